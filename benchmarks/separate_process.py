"""An object in a process of its own, so that its use of memory and threads does not affect what it is compared with."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch


class SeparateProcess:
    """Calls `make` in a new process with one thread, and then methods of the object that it returned."""

    def __init__(self, make: Callable[[], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(make, there), daemon=True)
        self._process.start()
        there.close()

    def call(self, method: str) -> Any:
        """Call a method without arguments and return what it returns."""
        self._connection.send(method)
        return self._connection.recv()

    def close(self) -> None:
        self._connection.close()
        self._process.join()


def _serve(make: Callable[[], Any], connection: Connection) -> None:
    torch.set_num_threads(1)
    made = make()
    while True:
        try:
            method = connection.recv()
        except EOFError:
            return
        connection.send(getattr(made, method)())
