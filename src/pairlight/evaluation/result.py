"""The result of an evaluation."""

from dataclasses import dataclass, field
from typing import Any

from pairlight.evaluation.metrics import TaskType
from pairlight.evaluation.validation import Column


@dataclass(frozen=True)
class EvaluationResult:
    """Metrics, the number of lists or pairs they were computed on, and notes about what was left out."""

    task: TaskType
    metrics: dict[str, float]  # in the order of RANKING_METRICS or PAIR_METRICS
    counted: int  # ranking lists, or pairs
    left_out: int = 0  # ranking lists without a positive that were not counted
    threshold: float | None = None  # pairs with this score or more were classified as positive
    notes: tuple[str, ...] = ()
    per_list: dict[str, Column] = field(default_factory=dict, repr=False, compare=False)  # ranking: for significance

    def as_dict(self) -> dict[str, Any]:
        """Return everything except the values of single lists, in a form ready for JSON."""
        return {
            "task": self.task,
            "metrics": dict(self.metrics),
            "counted": self.counted,
            "left_out": self.left_out,
            "threshold": self.threshold,
            "notes": list(self.notes),
        }
