"""`pairlight cluster`: check a Ray cluster."""

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
    as_json: Json = False,
) -> None:
    """Print what every node has, whether versions agree, and whether tiny jobs run."""
    from pairlight.cluster.check import check_cluster

    reports, faults = check_cluster(address)
    if as_json:
        print_json({"nodes": [report.as_dict() for report in reports], "faults": faults})
    else:
        for report in reports:
            print(
                f"{report.node:15} {report.cpus:g} CPUs, {report.memory_gb:g} GB, pairlight {report.pairlight}, Python "
                f"{report.python}, kernels {report.kernels}"
            )
            for fault in report.faults:
                print(f"{'':15} differs from this machine: {fault}")
        for fault in faults:
            print(fault)
        if not faults:
            print("A scoring job and an experiment have run.")
    if faults or any(report.faults for report in reports):
        raise typer.Exit(BAD_INPUT)
