"""What a server works with: the models, which can be reloaded, and the index, which one process writes at a time."""

import fcntl
import gc
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pairlight.inference.ready_made import resolve_model
from pairlight.layers.backends import prefer_backend
from pairlight.search.index import Index
from pairlight.search.manifest import WEIGHT
from pairlight.search.results import SearchResults
from pairlight.search.searcher import Searcher
from pairlight.serve.request_error import RequestError
from pairlight.serve.served_model import ServedModel
from pairlight.serve.settings import ServerSettings

_LOCK = ".writing"


class Backend:
    """Models by name, the first is the default; and an index, if one is served.

    Models are used by the scoring thread. `reload` runs in a thread of its own and replaces a model in one step, so
    requests that have begun finish with the model they began with.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.models: dict[str, ServedModel] = {}
        self.index: Index | None = None
        self.is_ready = False
        self._writer = ThreadPoolExecutor(1, "writing")
        self._changed: Index | None = None  # the index as the writing thread has it, so that searches go on meanwhile

    def load(self) -> None:
        """Load everything; a model or an index that cannot be read is an InputError."""
        if self.settings.index is not None:
            self.index = Index.open(self.settings.index)
            self.index.check()
        for model in self.settings.models:
            served = ServedModel.load(model)
            self.models[served.name] = served
        if self.index is not None:
            self.search(next(iter(self.models.values()), None), "a question", {})
        _keep_out_of_collections()
        self.is_ready = True

    def reload(self) -> list[dict[str, Any]]:
        """Load the models again, and report each; one that cannot be loaded is kept as it was."""
        if not self.is_ready:
            return [{"event": "reload", "ok": False, "error": "The models are still being loaded: reload them later."}]
        report: list[dict[str, Any]] = []
        for name, model in zip(list(self.models), self.settings.models, strict=True):
            try:
                self.models[name] = ServedModel.load(model)
                report.append({"event": "reload", "model": name, "ok": True})
            except Exception as error:
                report.append({"event": "reload", "model": name, "ok": False, "error": f"{error}"})
        self._changed = None  # its model may have changed too
        _keep_out_of_collections()
        return report

    def close(self) -> None:
        self._writer.shutdown()

    def model(self, name: str | None) -> ServedModel:
        """A model by name. Clients of other services send names of their own, which stand for the default model."""
        if not self.models:
            raise RequestError("Unhealthy", "No model is served: start the server with one.")
        return self.models.get(name or "") or next(iter(self.models.values()))

    def named_model(self, name: str | None) -> ServedModel:
        """A model by name, for our own endpoints: one that is not served is refused."""
        if name is not None and name not in self.models:
            raise RequestError("Validation", f"`model` is {name!r}: use one of {', '.join(self.models)}.")
        return self.model(name)

    def opened_index(self) -> Index:
        if self.index is None:
            raise RequestError("NotFound", "No index is served: start the server with one.")
        return self.index

    def search(
        self, model: ServedModel | None, query: str, options: Mapping[str, Any], first_stage: str | None = None
    ) -> SearchResults:
        """Search the index and rerank with a model; what was tuned applies to the model of the index."""
        index = self.opened_index()
        index.reload()
        own = index.manifest.model
        tuned = model is None or (own is not None and resolve_model(own).resolve() == model.folder.resolve())
        searcher = Searcher(
            index.stage(first_stage or index.manifest.first_stage),
            None if model is None else model.matcher.scorer,
            weight=index.manifest.weight if tuned else WEIGHT,
            threshold=index.manifest.threshold if tuned else None,
        )
        return searcher.search(query, **options)

    def put_documents(self, documents: Sequence[Mapping[str, Any]]) -> "Future[int]":
        """Add or replace documents, durably; the result is how many."""
        self.opened_index()
        return self._writer.submit(self._change, "update", documents)

    def delete_documents(self, ids: Sequence[str]) -> "Future[int]":
        """Delete documents, durably; the result is how many were there."""
        self.opened_index()
        return self._writer.submit(self._change, "delete", ids)

    def _change(self, method: str, argument: Sequence[Any]) -> int:
        folder = self.opened_index().folder
        with _exclusive(folder / _LOCK), prefer_backend("numpy"):
            index, self._changed = self._changed or Index.open(folder), None
            with index:  # closed after the change, so that other processes can write
                changed: int = getattr(index, method)(argument)
            self._changed = index  # opened anew after an error
            return changed


def _keep_out_of_collections() -> None:
    """Free what is not used any more, and let later garbage collections pass over what is loaded.

    Requests and explanations leave cycles that hold large objects. Collections are then cheap. Python puts a full one
    off until there are a quarter as many new objects as the last one has left: none, with the second one here.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.collect()


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Wait until no other worker writes."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
