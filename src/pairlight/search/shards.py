"""An index of many shards: each is searched by a process of its own, and their candidates are merged."""

import multiprocessing
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pairlight.core.errors import InputError
from pairlight.search.documents import Document, Where
from pairlight.search.first_stage import Candidate, FirstStage, FusedStage
from pairlight.search.index import Count, Index
from pairlight.search.manifest import Manifest

if TYPE_CHECKING:
    from pairlight.matcher import Matcher

STOP_SECONDS = 5.0  # that the process of a shard gets to end before it is killed


class ShardedIndex(Index):
    """A folder of indexes with one manifest. It is searched like a single one, and cannot be changed.

    BM25 weighs words by their frequency in a shard, which differs little between large shards of mixed documents.
    """

    def __init__(self, folder: Path, manifest: Manifest, model: "str | Path | Matcher | None" = None) -> None:
        self.folder, self.manifest = folder, manifest
        self._model, self._matcher = model, None
        self.shards = _Shards([folder / name for name in manifest.shards])

    def __len__(self) -> int:
        return sum(self.shards.ask("size"))

    def lookup(self, ids: Sequence[str]) -> dict[str, Document]:
        return {name: each for part in self.shards.ask("lookup", ids) for name, each in part.items()}

    def sample(self, count: int) -> list[Document]:
        return [each for part in self.shards.ask("sample", count) for each in part][:count]

    def stage(self, name: str) -> FirstStage:
        self._check_stage(name)
        if name != "hybrid":
            return _ShardStage(self.shards, name)
        # Ranks are fused after the shards are merged: each shard has a first one.
        return FusedStage([_ShardStage(self.shards, "bm25"), _ShardStage(self.shards, "vectors")])

    def reload(self) -> None:
        self._reload_tuned()  # shards do not change

    def check(self) -> None:
        for each in self.shards.shards:
            Index.open(each.folder).check()

    def close(self) -> None:
        self.shards.close()

    def add(self, documents: Iterable[Document | Mapping[str, Any]], *, progress: Count | None = None) -> NoReturn:
        raise InputError(f"{self.folder} is an index of shards, which cannot be changed: index the documents again.")

    def update(self, documents: Iterable[Document | Mapping[str, Any]], *, progress: Count | None = None) -> NoReturn:
        self.add(documents)

    def delete(self, ids: Iterable[str]) -> NoReturn:
        self.add([])


class _ShardStage:
    """The same first stage of all shards."""

    def __init__(self, shards: "_Shards", name: str) -> None:
        self.shards, self.name = shards, name

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        raise InputError("An index of shards cannot be changed: index the documents again.")

    def delete(self, ids: Sequence[str]) -> None:
        self.add([])

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        found = [each for part in self.shards.ask("candidates", self.name, query, k, where) for each in part]
        return sorted(found, key=lambda each: -each.score)[:k]

    def close(self) -> None:
        pass


class _Shard:
    """A shard and the process that searches it, started when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.connection: Connection | None = None

    def send(self, request: tuple[Any, ...]) -> None:
        if self.connection is not None and not self.process.is_alive():
            self.close()
        if self.connection is None:
            context = multiprocessing.get_context("spawn")
            self.connection, there = context.Pipe()
            self.process: SpawnProcess = context.Process(target=_serve, args=(there, self.folder), daemon=True)
            self.process.start()
            there.close()
        with suppress(OSError):  # of a process that has just ended: `receive` says so
            self.connection.send(request)

    def receive(self) -> Any:
        """The answer; an error is returned, so that the answers of other shards are received too."""
        try:
            return self.connection.recv() if self.connection is not None else self._ended()
        except (EOFError, OSError):
            self.close()
            return self._ended()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None
            self.process.join(STOP_SECONDS)
            if self.process.is_alive():
                self.process.kill()
                self.process.join()

    def _ended(self) -> InputError:
        return InputError(f"The process that searches {self.folder} ended: search again.")


class _Shards:
    """All shards of an index; one question at a time, from any thread."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.shards = [_Shard(folder) for folder in folders]
        self._lock = threading.Lock()

    def ask(self, *request: Any) -> list[Any]:
        """The answers of all shards, which work at the same time."""
        with self._lock:
            try:
                for each in self.shards:
                    each.send(request)
                answers = [each.receive() for each in self.shards]
            except BaseException:  # such as Ctrl-C: an answer that is not read would be that to the next question
                for each in self.shards:
                    each.close()
                raise
        for answer in answers:
            if isinstance(answer, InputError):
                raise answer
        return answers

    def close(self) -> None:
        with self._lock:
            for each in self.shards:
                each.close()


def _serve(connection: Connection, folder: Path) -> None:
    """The main function of a shard's process: answer until the connection is closed."""
    index = cache(lambda: Index.open(folder))  # opened by the first question: if it is damaged, that is the answer
    answers: dict[str, Callable[..., Any]] = {
        "size": lambda: len(index()),
        "lookup": lambda ids: index().lookup(ids),
        "sample": lambda count: index().sample(count),
        "candidates": lambda stage, *arguments: index().stage(stage).candidates(*arguments),
    }
    while True:
        try:
            name, *arguments = connection.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            answer: Any = answers[name](*arguments)
        except InputError as error:
            answer = InputError(str(error))
        connection.send(answer)
