"""The vector first stage: the texts whose static sentence vectors are most similar to the query's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from pairlight.search.documents import Document, Where, matches
from pairlight.search.first_stage import Candidate
from pairlight.search.sentence_vectors import quantized, sentence_vectors
from pairlight.search.vector_store import VectorStore

MAX_LISTED = 5000  # documents that pass a filter, up to which they are listed before the scan


class DocumentStore(Protocol):
    """Where the documents themselves are; vectors have only their ids."""

    def lookup(self, ids: Sequence[str]) -> dict[str, Document]:
        """The documents with these ids; those that are not there are left out."""
        ...

    def ids_where(self, where: Where, limit: int) -> list[str] | None:
        """The ids of all documents that pass the filter, None if there are more than `limit`."""
        ...


class VectorStage:
    """Cosine of sentence vectors over a folder, by an exact scan of all vectors."""

    def __init__(self, folder: Path, documents: DocumentStore) -> None:
        self.store, self.documents = VectorStore(folder), documents

    def __len__(self) -> int:
        return len(self.store)

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        if documents:
            self.store.append(
                [each.id for each in documents], *quantized(sentence_vectors([d.text for d in documents]))
            )

    def delete(self, ids: Sequence[str]) -> None:
        self.store.delete(ids)

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        if not len(self.store):
            return []
        scores = self.store.similarity(sentence_vectors([query])[0])
        listed = self.documents.ids_where(where, MAX_LISTED) if where else None
        if listed is not None:
            allowed = np.full(len(scores), -np.inf, np.float32)
            rows = self.store.rows_of(listed)
            allowed[rows] = scores[rows]
            scores = allowed
        left = int(np.isfinite(scores).sum())
        wanted = k
        while True:
            wanted = min(wanted, left)
            found = self._best(scores, wanted, where)
            if len(found) >= k or wanted == left:
                return found[:k]
            wanted *= 4  # some were filtered out, or are not in the collection any more

    def close(self) -> None:
        pass

    def _best(self, scores: np.ndarray, n: int, where: Where | None) -> list[Candidate]:
        if not n:
            return []
        rows = np.argpartition(scores, len(scores) - n)[len(scores) - n :]
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        ids = [self.store.id_of(row) for row in rows.tolist()]
        documents = self.documents.lookup(ids)
        return [
            Candidate(documents[name], float(scores[row]))
            for name, row in zip(ids, rows.tolist(), strict=True)
            if name in documents and matches(documents[name].fields, where)
        ]
