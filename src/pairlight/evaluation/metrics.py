"""The names of tasks and metrics."""

from typing import Literal

TaskType = Literal["ranking", "pairs"]  # rank the right texts of every left text, or classify independent pairs
ThresholdMetric = Literal["accuracy", "F1"]  # metrics of the decisions at a threshold

RANKING_METRICS = ("P@1", "MRR", "MAP", "nDCG@3", "nDCG@5", "nDCG@10")
CLASS_METRICS = ("accuracy", "F1", "ROC-AUC", "AP")  # of pairs that are positive or negative
GRADE_METRICS = ("Spearman", "Pearson")  # of pairs with graded labels
PAIR_METRICS = (*CLASS_METRICS, *GRADE_METRICS)
