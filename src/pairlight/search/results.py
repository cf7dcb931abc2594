"""What a search returns: hits with their scores and passages, and the time of each stage."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pairlight.inference.windows import Passage


@dataclass(frozen=True)
class SearchHit:
    """A document that was found; hits are ordered by `score`."""

    id: str
    text: str
    fields: Mapping[str, Any]
    score: float  # the blend of both stages, or the first stage's where there is no model
    first_score: float
    model_score: float | None
    passage: Passage  # that matches best: the whole text where the model reads all of it


@dataclass(frozen=True)
class StageSeconds:
    """How long each stage took."""

    first_stage: float
    rerank: float

    @property
    def total(self) -> float:
        return self.first_stage + self.rerank


@dataclass(frozen=True)
class SearchResults:
    """The hits of a query, best first."""

    query: str
    hits: list[SearchHit]
    candidates: int  # how many the first stage has found
    seconds: StageSeconds
    truncated: int = 0  # how many texts, the query and hits, are longer than what the model reads of them
    warnings: list[str] = field(default_factory=list)  # the same in words

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)

    def __getitem__(self, number: int) -> SearchHit:
        return self.hits[number]

    def as_dict(self) -> dict[str, Any]:
        """The results in a form ready for JSON; `meta` only where there are warnings."""
        record = asdict(self) | {"seconds": {**asdict(self.seconds), "total": self.seconds.total}}
        del record["truncated"], record["warnings"]
        return record | ({"meta": {"warnings": self.warnings}} if self.warnings else {})
