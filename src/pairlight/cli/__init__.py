"""The command line: each command parses its options, calls the library and prints the result."""

import os
from typing import Annotated

import typer

from pairlight.cli import (
    build,
    calibrate,
    compare,
    data,
    demo,
    doctor,
    encode,
    evaluate,
    explain,
    index,
    models,
    rank,
    reproduce,
    score,
    search,
    serve,
    train,
    tune,
)
from pairlight.cli.command import Command
from pairlight.cli.streams import standard_streams

app = typer.Typer(
    name="pairlight",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("train", cls=Command)(train.train)
app.command("evaluate", cls=Command)(evaluate.evaluate)
app.command("calibrate", cls=Command)(calibrate.calibrate)
app.command("score", cls=Command)(score.score)
app.command("rank", cls=Command)(rank.rank)
app.command("encode", cls=Command)(encode.encode)
app.command("explain", cls=Command)(explain.explain)
app.add_typer(index.index, name="index")
app.command("search", cls=Command)(search.search)
app.command("serve", cls=Command)(serve.serve)
app.command("tune", cls=Command)(tune.tune)
app.command("compare", cls=Command)(compare.compare)
app.command("models", cls=Command)(models.models)
app.add_typer(data.data, name="data")
app.add_typer(build.build, name="build")
app.command("reproduce", cls=Command)(reproduce.reproduce)
app.command("demo", cls=Command)(demo.demo)
app.command("doctor", cls=Command)(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pairlight import __version__

        print(f"pairlight {__version__}")
        raise typer.Exit


@app.callback()
def pairlight(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Train small models that score, rank and explain pairs of texts on a CPU."""


def main() -> None:
    """Run the command in `sys.argv`."""
    # PyTorch's threads spin while they wait for each other, by default for milliseconds. On a machine with other work,
    # two threads are then many times slower than one. This must be set before PyTorch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    with standard_streams():
        app()
