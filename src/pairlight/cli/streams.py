"""Standard streams that are closed, full, or cannot show every character."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

OUTPUT = "standard output"  # the name in errors


class _Output(io.FileIO):
    """Standard output, whose errors have its name, as those of files have theirs."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = OUTPUT
            raise


@contextmanager
def standard_streams() -> Iterator[None]:
    """Make printing safe for the duration of the block, and end with one line if the output cannot be written."""
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout is sys.__stdout__:
        raw = _Output(sys.stdout.fileno(), "w", closefd=False)
        written = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(written, sys.stdout.encoding, line_buffering=sys.stdout.line_buffering)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal with few characters shows the others as \\u...
    try:
        yield
    except OSError as error:  # of standard output: commands turn those of files into one line
        _stop_writing()
        raise _failure(error) from None
    except SystemExit as stopped:
        unwritten = _output_error()
        if unwritten is None:
            raise
        _stop_writing()
        if stopped.code:
            raise
        raise _failure(unwritten) from None


def _open_closed_streams() -> None:
    """Open the null device for each closed stream, so that no other file gets its number and what is printed.

    Standard output is opened for reading, so that writing to it fails as it should.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))


def _output_error() -> OSError | None:
    """What keeps standard output from being written, if anything does."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def _stop_writing() -> None:
    """Let the end of the process not try again to write what could not be written."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failure(error: OSError) -> SystemExit:
    if error.errno != errno.EPIPE:  # the reader of our output has what it wanted
        print(f"pairlight: Standard output cannot be written ({error.strerror}): check where it goes.", file=sys.stderr)
    return SystemExit(1)
