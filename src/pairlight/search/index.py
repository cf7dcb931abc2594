"""The `Index`: a folder with documents, first-stage engines and settings, to search and to change."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pairlight.core.errors import InputError, unknown_name
from pairlight.core.files import sync_folder
from pairlight.core.folders import claim_folder
from pairlight.core.records import read_record, write_record
from pairlight.inference.ready_made import find_model, ready_made
from pairlight.inference.scorer import Scorer
from pairlight.search.document_encodings import stores_encodings, with_encodings
from pairlight.search.documents import Document, Where
from pairlight.search.first_stage import FirstStage, FusedStage
from pairlight.search.manifest import (
    FIRST_STAGES,
    WEIGHT,
    Manifest,
    is_index,
    manifest_stamp,
    read_manifest,
    write_manifest,
)
from pairlight.search.results import SearchResults
from pairlight.search.searcher import FIRST, TOP, Searcher
from pairlight.search.tantivy_stage import TantivyStage, check_installed
from pairlight.search.vector_stage import VectorStage
from pairlight.text.checks import is_unicode, short_repr

if TYPE_CHECKING:
    from pairlight.matcher import Matcher

BATCH = 20_000  # documents that are committed together
CHECKED_DOCUMENTS = 20_000  # up to so many, checksums are verified whenever an index is opened; `check` always does
DEFAULT_FIRST_STAGE, DEFAULT_LANGUAGE, DEFAULT_MODEL = "hybrid", "en", "qa-small"

_DOCUMENTS, _VECTORS, _PENDING = "documents", "vectors", "pending.json"
_PENDING_FORMAT = 1

Count = Callable[[int], None]  # called with the number of documents done


@dataclass(frozen=True)
class _Pending:
    """The documents that are being changed."""

    ids: list[str]


class Index:
    """A collection that can be searched: `Index.create(folder, documents)`, `Index.open(folder)`, then `search`.

    tantivy keeps the documents, with the model's encodings of them where it has such. Every change is written to it
    first and then to the vectors, and the ids of a change are noted before, so that a crash between the two is repaired
    by the next change.
    """

    _stamp: tuple[int, int] | None = None  # of the manifest that was read last

    def __init__(self, folder: Path, manifest: Manifest, model: "str | Path | Matcher | None" = None) -> None:
        self.folder, self.manifest = folder, manifest
        self.documents = TantivyStage(folder / _DOCUMENTS, manifest.language)
        has_vectors = manifest.first_stage != "bm25"
        self.vectors = VectorStage(folder / _VECTORS, self.documents) if has_vectors else None
        self._model = model
        self._matcher: Matcher | None = None

    @classmethod
    def create(
        cls,
        folder: str | Path,
        documents: Iterable[Document | Mapping[str, Any] | str] = (),
        *,
        model: str | Path | None = DEFAULT_MODEL,
        first_stage: str = DEFAULT_FIRST_STAGE,
        language: str = DEFAULT_LANGUAGE,
        overwrite: bool = False,
        source: str | None = None,
        progress: Count | None = None,
    ) -> Self:
        """Index documents into a new folder.

        A document is a `Document`, a dict with an id and a text, or a text, whose id is its number from 1 on. `model`
        reranks: a model folder, the name of a ready-made model, or None for the first stage alone. `source`
        identifies the documents: after an interruption, the same call continues where it stopped.
        """
        check_installed()
        folder = Path(folder)
        manifest = Manifest(first_stage, language, model_name(model), source, encodings=stores_encodings(model))
        manifest.check()
        found = _documents(documents)
        first = list(islice(found, 1))  # bad input is an error before anything is written
        checked = chain(first, found)
        skip = 0
        if _resumable(folder, manifest):
            index = cls(folder, manifest)
            skip = len(index.documents)
        else:
            claim_folder(folder, overwrite=overwrite, is_ours=is_index, what="an index")
            for name in (_DOCUMENTS, _VECTORS):
                shutil.rmtree(folder / name, ignore_errors=True)
            (folder / _PENDING).unlink(missing_ok=True)
            folder.mkdir(parents=True, exist_ok=True)
            write_manifest(folder, manifest)
            index = cls(folder, manifest)
        try:
            index._start_writing()
            done = sum(1 for _ in islice(checked, skip))
            index._put_all(checked, progress, new=True, done=done)
            index._set_manifest(replace(manifest, complete=True))
        except BaseException:
            index.close()
            raise
        return index

    @classmethod
    def open(cls, folder: str | Path, model: "str | Path | Matcher | None" = None) -> Self:
        """Open an index, also one of many shards; `model` replaces the one that it was created with."""
        folder = Path(folder)
        manifest = read_manifest(folder)
        if not manifest.complete:
            raise InputError(f"Indexing into {folder} was interrupted: run the same command again to continue.")
        if manifest.shards:
            from pairlight.search.shards import ShardedIndex

            return ShardedIndex(folder, manifest, model)  # type: ignore[return-value]  # an Index, of many folders
        needed = [_DOCUMENTS] if manifest.first_stage == "bm25" else [_DOCUMENTS, _VECTORS]
        missing = [name for name in needed if not (folder / name).is_dir()]
        if missing:
            raise InputError(f"{folder} is damaged ({missing[0]} is missing): index the documents again.")
        index = cls(folder, manifest, model)
        if len(index) <= CHECKED_DOCUMENTS:
            index._check_files()
        return index

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        about = f"{self.manifest.first_stage}, {self.manifest.language}, model {self.manifest.model}"
        return f"<Index({str(self.folder)!r}), {len(self):,} documents, {about}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, documents: Iterable[Document | Mapping[str, Any]], *, progress: Count | None = None) -> int:
        """Add documents with new ids, durably, and return how many; an id that exists is an error."""
        self._start_writing()
        return self._put_all(self._unknown(_documents(documents)), progress, new=True)

    def update(self, documents: Iterable[Document | Mapping[str, Any]], *, progress: Count | None = None) -> int:
        """Replace documents by id, durably, and return how many; new ids are added."""
        self._start_writing()
        return self._put_all(_documents(documents), progress, new=False)

    def delete(self, ids: Iterable[str]) -> int:
        """Delete documents by id, durably, and return how many were there."""
        self._start_writing()
        before = len(self)
        wanted = [each for each in dict.fromkeys(ids) if is_unicode(each)]  # no document has another id
        for at in range(0, len(wanted), BATCH):
            part = wanted[at : at + BATCH]
            with_vectors = self._note(part)
            self.documents.delete(part)
            if self.vectors is not None:
                self.vectors.delete(part)
            self._forget(with_vectors)
        return before - len(self)

    def search(
        self,
        query: str,
        top: int = TOP,
        first: int = FIRST,
        where: Where | None = None,
        offset: int = 0,
        threshold: float | None = None,
        first_stage: str | None = None,
    ) -> SearchResults:
        """The best documents for a query, best first: see `Searcher.search`, and `stage` for `first_stage`."""
        self.reload()
        return self.searcher(first_stage).search(query, top, first, where, offset, threshold)

    def searcher(self, first_stage: str | None = None) -> Searcher:
        """The search of this index as an object, with its first stage or another one that it has."""
        tuned = self._model is None  # on the index's own model
        matcher = self.matcher
        return Searcher(
            self.stage(first_stage or self.manifest.first_stage),
            None if matcher is None else matcher.scorer,
            weight=self.manifest.weight if tuned else WEIGHT,
            threshold=self.manifest.threshold if tuned else None,
        )

    def stage(self, name: str) -> FirstStage:
        """A first stage of this index: bm25, and vectors or hybrid where it was created with one of these."""
        self._check_stage(name)
        if name == "bm25" or self.vectors is None:
            return self.documents
        return self.vectors if name == "vectors" else FusedStage([self.documents, self.vectors])

    def _check_stage(self, name: str) -> None:
        if name not in FIRST_STAGES:
            raise unknown_name("first stage", name, FIRST_STAGES, option="first_stage")
        if name != "bm25" and self.manifest.first_stage == "bm25":
            raise InputError(
                f"This index has no vectors for the first stage {name}: use bm25, or index the documents again with "
                f"{name}.",
                option="first_stage",
            )

    @property
    def matcher(self) -> "Matcher | None":
        """The model that reranks, loaded when it is first used."""
        if self._matcher is None:
            from pairlight.matcher import Matcher

            model = self.manifest.model if self._model is None else self._model
            if isinstance(model, Matcher):
                self._matcher = model
            elif model is not None:
                self._matcher = Matcher.load(model)
        return self._matcher

    def lookup(self, ids: Sequence[str]) -> dict[str, Document]:
        """The documents with these ids; those that are not there are left out."""
        return self.documents.lookup(ids)

    def sample(self, count: int) -> list[Document]:
        """So many documents, in no particular order."""
        return list(self.documents.all_documents(count))

    def set_tuned(self, weight: float, threshold: float | None) -> None:
        """Keep what was learnt on dev queries."""
        self._set_manifest(replace(self.manifest, weight=weight, threshold=threshold))

    def reload(self) -> None:
        """See what other processes have committed since, and what was tuned."""
        self._reload_tuned()
        self.documents.reload()
        if self.vectors is not None:
            self.vectors.store.reload()

    def _reload_tuned(self) -> None:
        stamp = manifest_stamp(self.folder)
        if stamp != self._stamp:
            found = read_manifest(self.folder)
            self.manifest = replace(self.manifest, weight=found.weight, threshold=found.threshold)
            self._stamp = stamp

    def check(self) -> None:
        """Raise InputError if a file is damaged, or the vectors are not those of the documents."""
        self._check_files()
        if self.vectors is None:
            return
        if len(self.vectors) != len(self):
            raise InputError(
                f"{self.folder} has {len(self):,} documents and {len(self.vectors):,} vectors: a change was "
                "interrupted, and the next one repairs it."
            )

    def _check_files(self) -> None:
        self.documents.check()
        if self.vectors is not None:
            self.vectors.store.check()

    def close(self) -> None:
        """Wait for merges in the background, and let other processes write."""
        self.documents.close()

    def _start_writing(self) -> None:
        """Keep other processes from writing, and repair what a crash has left behind."""
        self.documents.writer()
        self.reload()
        pending = self.folder / _PENDING
        if self.vectors is None or not pending.exists():
            return
        ids = read_record(pending, _Pending, _PENDING_FORMAT, "index the documents again").ids
        self.vectors.delete(ids)
        self.vectors.add(list(self.documents.lookup(ids).values()))
        self._forget(True)

    def _unknown(self, documents: Iterator[Document]) -> Iterator[Document]:
        """Documents whose ids the index does not have; they are looked up as many at a time as are committed."""
        done = 0
        for batch in _batches(documents):
            known = self.documents.lookup([each.id for each in batch])
            if known:
                name = next(each.id for each in batch if each.id in known)
                raise InputError(
                    f"The index has a document {name!r} already ({done:,} documents were added before it): update it "
                    "instead, or give another id."
                )
            yield from batch
            done += len(batch)

    def _put_all(self, documents: Iterator[Document], progress: Count | None, *, new: bool, done: int = 0) -> int:
        """Write documents batch by batch, and return how many there are with those that were `done` before."""
        for batch in _batches(documents):
            self._put(batch, new=new)
            done += len(batch)
            if progress is not None:
                progress(done)
        return done

    def _put(self, documents: Sequence[Document], *, new: bool) -> None:
        noted = self._note([each.id for each in documents])
        self.documents.add(self._encoded(documents), new=new)
        if self.vectors is not None:
            self.vectors.add(documents, new=new)
        self._forget(noted)

    def _encoded(self, documents: Sequence[Document]) -> Iterable[Document]:
        """The documents as they are stored: with the encodings of the index's own model, where it has such."""
        return with_encodings(self._encoder, documents) if self.manifest.encodings else documents

    @cached_property
    def _encoder(self) -> Scorer:
        from pairlight.matcher import Matcher

        own = self.matcher if self._model is None else None
        return (own or Matcher.load(str(self.manifest.model))).scorer

    def _note(self, ids: list[str]) -> bool:
        """Write down which documents are being changed, if there are two engines to keep consistent."""
        if self.vectors is None:
            return False
        write_record(self.folder / _PENDING, {"ids": ids}, _PENDING_FORMAT)
        sync_folder(self.folder)
        return True

    def _forget(self, noted: bool) -> None:
        if noted:
            (self.folder / _PENDING).unlink(missing_ok=True)

    def _set_manifest(self, manifest: Manifest) -> None:
        write_manifest(self.folder, manifest)
        self.manifest = manifest


def model_name(model: str | Path | None) -> str | None:
    """The model as it is kept in the manifest: the name of a ready-made one, or an absolute path."""
    if model is None:
        return None
    path = find_model(model, "model")
    return str(model) if str(model) in ready_made() and not Path(model).exists() else str(path.resolve())


def _resumable(folder: Path, manifest: Manifest) -> bool:
    if manifest.source is None or not is_index(folder):
        return False
    found = read_manifest(folder)
    return not found.complete and found == manifest


def _documents(documents: Iterable[Document | Mapping[str, Any] | str]) -> Iterator[Document]:
    """Checked documents; an id that occurs twice is an error."""
    seen: set[str] = set()
    for number, each in enumerate(documents, 1):
        if isinstance(each, str):
            each = Document(str(number), each)
        elif not isinstance(each, Document):
            missing = [name for name in ("id", "text") if name not in each]
            if missing:
                raise InputError(f"Document {number} has no {missing[0]!r}: give a dict with an id and a text.")
            others = {name: value for name, value in each.items() if name not in ("id", "text")}
            each = Document(str(each["id"]), each["text"], others)
        each.check()
        if each.id in seen:
            raise InputError(f"The id {short_repr(each.id)} occurs more than once: give every document its own.")
        seen.add(each.id)
        yield replace(each, encoding=None)  # one that was taken from another index may not be that of its text


def _batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    while batch := list(islice(documents, BATCH)):
        yield batch
