"""The FirstStage protocol, which finds candidates for a query, and stages made of a function or of other stages."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pairlight.core.errors import InputError
from pairlight.search.documents import Document, Where, matches

MAX_BYTES = 100_000_000  # of the candidates of a search in an index, so that its memory has a bound
RANK_CONSTANT = 60  # of reciprocal rank fusion, from Cormack, Clarke and Büttcher, SIGIR 2009


@dataclass(frozen=True)
class Candidate:
    """A document that a first stage has found, with its score there: higher is better."""

    document: Document
    score: float


class FirstStage(Protocol):
    """Finds the documents of a collection that may match a query, quickly.

    What `add` and `delete` have changed is durable when they return.
    """

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        """Add documents; one whose id is there already is replaced. `new` promises that none is."""
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents; ids that are not there are ignored."""
        ...

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        """The best k documents that pass the filter, best first."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


class FunctionStage:
    """A first stage that calls a function (query, k) -> candidates, best first; it cannot be written to."""

    def __init__(self, function: Callable[[str, int], Iterable[Candidate]]) -> None:
        self.function = function

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        raise InputError("This first stage is a function and cannot be written to: change what the function searches.")

    def delete(self, ids: Sequence[str]) -> None:
        self.add([])

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        return [each for each in self.function(query, k) if matches(each.document.fields, where)][:k]

    def close(self) -> None:
        pass


class FusedStage:
    """Several stages as one: candidates are merged by reciprocal rank fusion, score = sum of 1 / (60 + rank)."""

    def __init__(self, stages: Sequence[FirstStage]) -> None:
        self.stages = list(stages)

    def add(self, documents: Sequence[Document], *, new: bool = False) -> None:
        for stage in self.stages:
            stage.add(documents, new=new)

    def delete(self, ids: Sequence[str]) -> None:
        for stage in self.stages:
            stage.delete(ids)

    def candidates(self, query: str, k: int, where: Where | None = None) -> list[Candidate]:
        return fuse([stage.candidates(query, k, where) for stage in self.stages])[:k]

    def close(self) -> None:
        for stage in self.stages:
            stage.close()


def fuse(rankings: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """Merge rankings by reciprocal rank fusion, best first; ties keep the order of the rankings."""
    scores: dict[str, float] = {}
    found: dict[str, Candidate] = {}
    for ranking in rankings:
        for rank, each in enumerate(ranking, 1):
            scores[each.document.id] = scores.get(each.document.id, 0.0) + 1 / (RANK_CONSTANT + rank)
            found.setdefault(each.document.id, each)
    best = sorted(scores, key=lambda name: -scores[name])
    return [replace(found[name], score=scores[name]) for name in best]
