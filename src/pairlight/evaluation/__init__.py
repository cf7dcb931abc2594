"""Evaluation of scores: metrics of rankings and pairs, calibration, TREC files, and significance tests."""

from pairlight.evaluation.calibration import Calibration, fit_calibration
from pairlight.evaluation.classification import best_threshold, pair_metrics
from pairlight.evaluation.evaluate import default_metric, evaluate_scores, task_type
from pairlight.evaluation.metrics import PAIR_METRICS, RANKING_METRICS, TaskType
from pairlight.evaluation.ranking import evaluate_run, ranking_metrics
from pairlight.evaluation.result import EvaluationResult
from pairlight.evaluation.significance import PairedDifference, paired_bootstrap, paired_t_test
from pairlight.evaluation.trec import read_qrels, read_run, write_qrels, write_run

__all__ = [
    "PAIR_METRICS",
    "RANKING_METRICS",
    "Calibration",
    "EvaluationResult",
    "PairedDifference",
    "TaskType",
    "best_threshold",
    "default_metric",
    "evaluate_run",
    "evaluate_scores",
    "fit_calibration",
    "pair_metrics",
    "paired_bootstrap",
    "paired_t_test",
    "ranking_metrics",
    "read_qrels",
    "read_run",
    "task_type",
    "write_qrels",
    "write_run",
]
