"""Runs a job over the blocks of a table for a command, here or on a cluster, and prints what was done."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from pairlight.cli.output import print_json
from pairlight.core.progress import progress_reporter

if TYPE_CHECKING:
    from pairlight.batch.job import BlockJob, Runner
    from pairlight.data.blocks import Block

INTERRUPTED = 130  # exit code


def run_blocks(job: "BlockJob", blocks: "Sequence[Block]", cluster: str | None, as_json: bool, done: str) -> None:
    """Run the job; `done` is the line that is printed at the end, with a place for the number of rows."""
    from pairlight.batch.job import BAD, run_here, run_job
    from pairlight.core.storage import join

    runner: Runner = run_here
    if cluster is not None:
        from pairlight.cluster.blocks import ray_runner

        runner = ray_runner(cluster)
    with progress_reporter() as reporter:
        try:
            report = run_job(job, blocks, runner, reporter)
        except KeyboardInterrupt:
            reporter.say("Interrupted: run the same command again to continue.")
            raise typer.Exit(INTERRUPTED) from None
    rows, bad = report.counts["rows"] - report.counts["bad"], report.counts["bad"]
    if as_json:
        print_json({"out": job.out, "blocks": report.blocks, "resumed": report.resumed, "rows": rows, "bad": bad})
        return
    print(done.format(rows))
    if bad:
        print(f"{bad:,} rows are bad: they are in {join(job.out, BAD)} with the reasons")
