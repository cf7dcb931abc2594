"""The class of all commands: errors become one line and an exit code, warnings become notes."""

import errno
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption

from pairlight.cli.streams import OUTPUT
from pairlight.core.errors import InputError
from pairlight.core.extras import naming_extras
from pairlight.core.memory import is_out_of_memory
from pairlight.core.terminal import printable

BAD_INPUT, MACHINE_TROUBLE = 2, 1  # exit codes


class Command(TyperCommand):
    """A command that ends with one line on standard error when the input is bad or the machine fails."""

    def invoke(self, ctx: Any) -> Any:
        with _warnings_as_notes():
            try:
                with naming_extras():
                    return super().invoke(ctx)
            except InputError as error:
                raise _failed(BAD_INPUT, f"{error}{self._option_hint(error)}") from None
            except OSError as error:
                # Typer ends quietly if the reader of our output has closed it; `standard_streams` names the output.
                if error.errno == errno.EPIPE or error.filename == OUTPUT:
                    raise
                path = f" ({error.filename})" if error.filename else ""
                fix = "No file was left incomplete: free some space, or check the path."
                raise _failed(MACHINE_TROUBLE, f"{error.strerror or error}{path}. {fix}") from None
            except FloatingPointError as error:  # scores that are not finite
                raise _failed(MACHINE_TROUBLE, str(error)) from None
            except RecursionError:
                raise _failed(BAD_INPUT, "The input is nested too deeply: write it with fewer levels.") from None
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                raise _failed(MACHINE_TROUBLE, f"There is not enough memory: {self._memory_fix()}.") from None

    def flag(self, name: str) -> str | None:
        """The flag of the option with this Python name; None if the command has no such option."""
        return next((each.opts[0] for each in self.params if isinstance(each, TyperOption) and each.name == name), None)

    def _option_hint(self, error: InputError) -> str:
        flag = None if error.option is None else self.flag(error.option)
        return "" if flag is None else f" (option {flag})"

    def _memory_fix(self) -> str:
        flags = [flag for name in ("settings", "batch", "jobs") if (flag := self.flag(name))]
        return f"use smaller values of {', '.join(flags)}" if flags else "use a smaller model or shorter texts"


class LightCommand(Command):
    """A command that trains nothing: its models run without PyTorch, which takes longer to import than they run."""

    def invoke(self, ctx: Any) -> Any:
        from pairlight.layers.backends import prefer_backend

        with prefer_backend("numpy"):
            return super().invoke(ctx)


def _failed(code: int, message: str) -> typer.Exit:
    print(f"pairlight: {printable(message)}", file=sys.stderr)
    return typer.Exit(code)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print each distinct warning once, as a line on standard error."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            print(f"Note: {printable(str(message))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
