"""The vector first stage: the texts whose static sentence vectors are most similar to the query's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pairlight.search.documents import Document, Where, matches
from pairlight.search.first_stage import MAX_BYTES, Candidate
from pairlight.search.sentence_vectors import quantized, sentence_vectors
from pairlight.search.vector_store import VectorStore

MAX_LISTED = 5000  # documents that pass a filter, up to which they are listed before the scan


class DocumentStore(Protocol):
    """Where the documents themselves are; vectors have only their ids."""

    def lookup(self, ids: Sequence[str], max_bytes: int | None = None) -> dict[str, Document]:
        """The documents with these ids; those that are not there are left out, and more than `max_bytes` refused."""
        ...

    def ids_where(self, where: Where, limit: int) -> list[str] | None:
        """The ids of all documents that pass the filter, None if there are more than `limit`."""
        ...


class VectorStage:
    """Cosine of sentence vectors over a folder, by a scan of all vectors."""

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
        vector = sentence_vectors([query])[0]
        among = self.documents.ids_where(where, MAX_LISTED) if where else None
        wanted = k
        while True:
            scored = self.store.rows.search(vector, wanted, among)
            documents = self.documents.lookup([name for name, _ in scored], MAX_BYTES)
            found = [
                Candidate(documents[name], score)
                for name, score in scored
                if name in documents and matches(documents[name].fields, where)
            ]
            if len(found) >= k or len(scored) < wanted:
                return found[:k]
            wanted *= 4  # some were filtered out, or are not in the collection any more

    def close(self) -> None:
        pass
