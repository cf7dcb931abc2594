"""The names of tasks and metrics."""

from typing import Literal

TaskType = Literal["ranking", "pairs"]  # rank the right texts of every left text, or classify independent pairs
ThresholdMetric = Literal["accuracy", "F1"]  # metrics of the decisions at a threshold

RANKING_METRICS = ("P@1", "MRR", "MAP", "nDCG@3", "nDCG@5", "nDCG@10")
PAIR_METRICS = ("accuracy", "F1", "ROC-AUC", "AP", "Spearman")
