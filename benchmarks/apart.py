"""A side of a comparison in a process of its own: how one handles memory and threads does not reach the other."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch


class DualEncoder:
    """What `make` makes, over there: `side.speed()` asks its method `speed` and waits for the answer."""

    def __init__(self, make: Callable[[], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._asked, there = context.Pipe()
        self._process = context.Process(target=_answer, args=(make, there), daemon=True)
        self._process.start()
        there.close()

    def __getattr__(self, name: str) -> Callable[[], Any]:
        def ask() -> Any:
            self._asked.send(name)
            return self._asked.recv()

        return ask

    def close(self) -> None:
        self._asked.close()
        self._process.join()


def _answer(make: Callable[[], Any], asked: Connection) -> None:
    torch.set_num_threads(1)
    made = make()
    while True:
        try:
            name = asked.recv()
        except EOFError:
            return
        asked.send(getattr(made, name)())
