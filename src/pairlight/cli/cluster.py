"""`pairlight cluster`: check a Ray cluster."""

from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli.command import BAD_INPUT, Command
from pairlight.cli.options import Json
from pairlight.cli.output import print_json

cluster = typer.Typer(help="Check a Ray cluster.", no_args_is_help=True)


@cluster.callback()
def group() -> None:
    """Check a Ray cluster."""


@cluster.command("check", cls=Command)
def check(
    address: Annotated[str, typer.Option("--cluster", help="Address of the cluster; auto for the one here.")] = "auto",
    shared: Annotated[
        Path | None,
        typer.Option("--shared", exists=True, file_okay=False, help="Folder that all nodes share, for the tiny jobs."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what every node has, whether versions agree, and whether a tiny job of each kind runs."""
    from pairlight.cluster.check import check_cluster

    reports, jobs = check_cluster(address, shared)
    faults = {name: fault for name, fault in jobs.items() if fault}
    if as_json:
        print_json({"nodes": [report.as_dict() for report in reports], "jobs": list(jobs), "faults": faults})
    else:
        for report in reports:
            print(
                f"{report.node:15} {report.cpus:g} CPUs, {report.memory_gb:g} GB, pairlight {report.pairlight}, Python "
                f"{report.python}, kernels {report.kernels}"
            )
            for fault in report.faults:
                print(f"{'':15} differs from this machine: {fault}")
        for name in jobs:
            print(f"{name:15} {faults.get(name, 'runs')}")
        if faults and len(reports) > 1 and shared is None:
            print("Jobs need a folder that all nodes share: give it with --shared.")
    if faults or any(report.faults for report in reports):
        raise typer.Exit(BAD_INPUT)
