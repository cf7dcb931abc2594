"""Finds the rows that a model fails on, or that end the process, so that one of them does not stop a job of a day."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

Part = TypeVar("Part")
Function = Callable[[Sequence[int]], Part]  # of the numbers of some rows


class ChildError(Exception):
    """What went wrong in another process."""


def isolate(function: Function[Part], rows: Sequence[int], faults: dict[int, str]) -> Iterator[Part]:
    """The results for these rows in parts; rows that the function fails on are put into `faults` instead."""
    if not rows:
        return
    try:
        yield function(rows)
    except Exception as error:  # whatever a text can cause
        if len(rows) == 1:
            faults[rows[0]] = f"the model fails on it ({_reason(error)})."
            return
        middle = len(rows) // 2
        yield from isolate(function, rows[:middle], faults)
        yield from isolate(function, rows[middle:], faults)


def in_child(function: Function[Part]) -> Function[Part]:
    """The same function in a process of its own for every call; one that dies is an error like any other."""

    def call(rows: Sequence[int]) -> Part:
        context = multiprocessing.get_context("fork")  # has the model already
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_answer, args=(there, function, rows))
        child.start()
        there.close()
        try:
            answer = here.recv()
        except EOFError:
            child.join()
            raise ChildError(f"its process ended with exit code {child.exitcode}") from None
        child.join()
        if isinstance(answer, ChildError):
            raise answer
        return answer

    return call


def _answer(connection: Connection, function: Function[Part], rows: Sequence[int]) -> None:
    try:
        connection.send(function(rows))
    except Exception as error:
        connection.send(ChildError(_reason(error)))


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ChildError) else f"{type(error).__name__}: {error}"
