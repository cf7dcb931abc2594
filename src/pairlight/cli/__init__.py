"""The command line: each command parses its options, calls the library and prints the result."""

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

from pairlight.cli.command import Command, LightCommand
from pairlight.cli.streams import standard_streams

# The function of each command, or the group of a command that has commands of its own, by its module.
COMMANDS = {
    "train": "train:train",
    "evaluate": "evaluate:evaluate",
    "calibrate": "calibrate:calibrate",
    "score": "score:score",
    "rank": "rank:rank",
    "encode": "encode:encode",
    "explain": "explain:explain",
    "index": "index:index",
    "search": "search:search",
    "serve": "serve:serve",
    "tune": "tune:tune",
    "compare": "compare:compare",
    "models": "models:models",
    "data": "data:data",
    "build": "build:build",
    "reproduce": "reproduce:reproduce",
    "demo": "demo:demo",
    "cluster": "cluster:cluster",
    "doctor": "doctor:doctor",
}
LIGHT = ("score", "rank", "encode", "search")  # those that run without PyTorch; so do the commands of `index`


def app_with(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands."""
    app = typer.Typer(
        name="pairlight",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(pairlight)
    for name in names:
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(f"pairlight.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=LightCommand if name in LIGHT else Command)(command)
    return app


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return app_with(COMMANDS)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pairlight import __version__

        print(f"pairlight {__version__}")
        raise typer.Exit


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
    # NumPy's products are small here: threads cost them more than they gain.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Only the command that runs is built, which is faster.
    first = sys.argv[1] if len(sys.argv) > 1 else None
    with standard_streams():
        app_with([first] if first in COMMANDS else COMMANDS)(prog_name="pairlight")
