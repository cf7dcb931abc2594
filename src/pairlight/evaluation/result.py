"""What every evaluation gives back: the metrics, what they were measured on, and what was left out."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pairlight.evaluation.columns import Column

Kind = Literal["ranking", "pairs"]


@dataclass(frozen=True)
class Result:
    kind: Kind
    metrics: dict[str, float]  # always in the same order for one kind
    counted: int  # lists of a ranking, or pairs
    left_out: int = 0  # lists without a right answer that were not counted
    threshold: float | None = None  # the score from which a pair was called a match
    notes: tuple[str, ...] = ()
    per_list: dict[str, Column] = field(default_factory=dict, repr=False, compare=False)  # ranking: for significance

    def as_dict(self) -> dict[str, Any]:
        """Everything but the values of single lists, ready for JSON."""
        return {
            "kind": self.kind,
            "metrics": dict(self.metrics),
            "counted": self.counted,
            "left_out": self.left_out,
            "threshold": self.threshold,
            "notes": list(self.notes),
        }
