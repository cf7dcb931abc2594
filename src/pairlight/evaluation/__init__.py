"""How good scores are: ranking lists, labelled pairs, calibration, TREC files and significance."""

from pairlight.evaluation.calibration import Calibration, fit_calibration
from pairlight.evaluation.evaluate import evaluate_scores, task_type
from pairlight.evaluation.labelled import best_threshold, pair_metrics
from pairlight.evaluation.ranking import evaluate_run, rank_metrics
from pairlight.evaluation.result import Kind, Result
from pairlight.evaluation.significance import Difference, paired_bootstrap, paired_t
from pairlight.evaluation.trec import read_qrels, read_run, write_qrels, write_run

__all__ = [
    "Calibration",
    "Difference",
    "Kind",
    "Result",
    "best_threshold",
    "evaluate_run",
    "evaluate_scores",
    "fit_calibration",
    "task_type",
    "pair_metrics",
    "paired_bootstrap",
    "paired_t",
    "rank_metrics",
    "read_qrels",
    "read_run",
    "write_qrels",
    "write_run",
]
