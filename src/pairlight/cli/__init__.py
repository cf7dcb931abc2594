"""The command line: parse, call, print; results go to standard output, the rest to standard error."""

import os
import sys

import typer

from pairlight.cli import build, compare, demo, doctor, explain, look, reproduce, train, tune, use
from pairlight.core.errors import InputError

app = typer.Typer(
    name="pairlight",
    help="Train small neural models that say how well two texts match, on an ordinary CPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("train")(train.train)
app.command("evaluate")(use.evaluate)
app.command("score")(use.score)
app.command("rank")(use.rank)
app.command("encode")(use.encode)
app.command("explain")(explain.explain)
app.command("tune")(tune.tune)
app.command("compare")(compare.compare)
app.command("models")(look.models)
app.add_typer(look.data, name="data")
app.add_typer(build.build, name="build")
app.command("reproduce")(reproduce.reproduce)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run a command; bad input is one line and exit code 2, trouble with the machine one line and exit code 1."""
    # PyTorch's threads wait for one another by spinning, as a rule for milliseconds: on a machine that has other work
    # too, two of them would then be many times slower than one. It must be known before PyTorch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    try:
        app()
    except InputError as error:
        _stop(2, str(error))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _stop(1, f"{error.strerror or error}{where}. Nothing was left half-written; make room or check the path.")
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not any(word in str(error) for word in ("allocate", "Storage size")):
            raise  # PyTorch has no error of its own for this
        _stop(1, "There is not enough memory for this: take smaller settings, a smaller --batch or fewer --jobs.")


def _stop(code: int, line: str) -> None:
    print(f"pairlight: {line}", file=sys.stderr)
    sys.exit(code)
