"""The panel: datasets of different kinds and sizes on which defaults are chosen and every model is checked."""

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.progress import ProgressReporter
from pairlight.core.records import RecordError, decode_file, read_bytes
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits
from pairlight.evaluation.classification import best_threshold, spearman
from pairlight.evaluation.evaluate import default_metric, evaluate_scores
from pairlight.evaluation.significance import paired_bootstrap
from pairlight.experiments.executor import Executor, Failed
from pairlight.experiments.records import Record, Values, decode_line, encode_line
from pairlight.experiments.runs import check_finished
from pairlight.experiments.sources import make_source, read_source
from pairlight.experiments.spec import RunSpec, with_seed
from pairlight.inference.scorer import Scores
from pairlight.models import MODELS, model_class
from pairlight.training.baseline import bm25_scores
from pairlight.training.config import TrainingConfig
from pairlight.training.trainer import train

PANEL = ("wikiqa", "squad-sentences", "stsb-en", "stsb-zh", "banking77-faq", "quora", "sotu")
CUTS = (100, 500, 2000, 0)  # training lists, or pairs; 0 for all
MAIN_MODELS = ("late-interaction", "mv-lstm", "amv-lstm", "match-srnn", "match-pyramid")
SEEDS = 3
DEV_LISTS = 500  # of a cut dataset: more would cost more than the training
MARGIN = 0.01  # below BM25 that a model may be on test without counting as worse
ROUNDS = 2000  # of the bootstrap
ROUNDING = 1e-6  # of stored metrics
VERSION = 1  # to be raised when a model changes, so that its runs are repeated


@dataclass(frozen=True)
class PanelRun:
    """A training on a dataset of the panel."""

    dataset: str
    cut: int
    spec: RunSpec

    @property
    def key(self) -> str:
        """Identifies the run with everything it depends on: settings, training options and the panel's version."""
        kind = model_class(self.spec.model)
        config = TrainingConfig.of(kind.training_options(self.spec.settings), {**self.spec.options})
        spec = {name: getattr(self.spec, name) for name in ("model", "seed", "settings", "options")}
        about = [VERSION, self.dataset, self.cut, spec, config.as_dict()]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class PanelResult(Record):
    """What a run of the panel measured; `test` is empty for runs that choose defaults."""

    key: str
    dataset: str
    cut: int
    model: str
    seed: int
    settings: Values
    options: Values
    metric: str
    dev: dict[str, float]  # of the model, of the untrained model ("start") and of BM25
    test: dict[str, float]  # of the model and of BM25
    low: float | None  # of the 95 % interval of the difference from BM25 on test
    high: float | None
    best_epoch: int
    seconds: float  # CPU time of training

    @property
    def passes_dev(self) -> bool:
        return self.dev["model"] >= max(self.dev["start"], self.dev["bm25"]) - ROUNDING

    @property
    def passes_test(self) -> bool:
        return self.high is None or self.high >= -MARGIN


class PanelRecords:
    """A file with one line for each finished run, so that a panel that was stopped continues where it was.

    A run whose line is damaged is repeated, with a warning.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, PanelResult] = {}
        for number, line in enumerate(read_bytes(path, "check the path").splitlines() if path.is_file() else (), 1):
            place, fix = Path(f"{path}, line {number}"), "its run is repeated"
            try:
                result = decode_file(place, PanelResult, decode_line(line, place, fix), fix)
            except RecordError as error:
                warnings.warn(str(error), stacklevel=2)
                continue
            self.results[result.key] = result

    def add(self, result: PanelResult) -> None:
        self.results[result.key] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            file.seek(max(0, file.tell() - 1))
            unfinished = file.read() not in (b"", b"\n")  # the line of a run that was killed while it was written
            file.write(b"\n" * unfinished + encode_line(result))
            file.flush()
            os.fsync(file.fileno())

    def of(self, runs: Sequence[PanelRun]) -> list[PanelResult]:
        """The results of those runs that are finished."""
        return [self.results[key] for key in (run.key for run in runs) if key in self.results]


def panel_runs(models: Sequence[str], datasets: Sequence[str], cuts: Sequence[int], seeds: int) -> list[PanelRun]:
    """The runs that check the defaults, the cheapest first and every model once before any is run again."""
    return [
        PanelRun(dataset, cut, RunSpec(model, seed, with_seed(model, {}, seed), {}))
        for seed in range(1, seeds + 1)
        for cut in sorted(cuts, key=lambda cut: cut or 10**9)
        for model in models
        for dataset in datasets
    ]


def all_panel_runs(
    seeds: int = SEEDS, models: Sequence[str] | None = None, data: Sequence[str] = PANEL
) -> list[PanelRun]:
    """Every model but random on every dataset cut to 500, and the main models on every cut and in full."""
    every = [name for name in models or MODELS if name != "random"]
    main = [name for name in MAIN_MODELS if name in every]
    runs = [
        *panel_runs([name for name in main if name == "late-interaction"], data, CUTS, seeds),
        *panel_runs(every, data, (500,), 1),
        *panel_runs(main, data, CUTS, seeds),
    ]
    return list({run.key: run for run in runs}.values())


def run_panel(
    runs: Sequence[PanelRun],
    records: PanelRecords,
    out: Path,
    executor: Executor,
    reporter: ProgressReporter,
    *,
    measure_test: bool,
) -> list[Failed]:
    """Run what is not finished; a failed run does not stop the others."""
    failures: list[Failed] = []
    missing = [run for run in runs if run.key not in records.results]
    done = len(runs) - len(missing)
    reporter.say(f"{len(runs)} runs, {done} of them finished; results are in {records.path}.")
    for group in _groups(missing):
        dataset, cut = group[0].dataset, group[0].cut
        make_source(dataset, "full", out, lambda share, name=dataset: reporter.update(f"Making {name}", share))  # type: ignore[misc]
        reporter.update("All runs", done / len(runs))
        splits = cut_splits(read_source(dataset, "full", out), cut)
        keys = {run.spec.name: run.key for run in group}
        work = _train_and_test if measure_test else _train_only
        for outcome in executor.submit([run.spec for run in group], work, splits):
            done += 1
            if isinstance(outcome, Failed):
                failures.append(outcome)
                reporter.say(f"Failed: {dataset}, {outcome.spec.model}, seed {outcome.spec.seed}: {outcome.error}")
                continue
            found = PanelResult(key=keys[outcome.spec.name], dataset=dataset, cut=cut, **outcome.result)
            records.add(found)
            reporter.say(
                f"{dataset}, {cut or 'all'}, {found.model}, seed {found.seed}: dev {found.metric} "
                f"{found.dev['model']:.3f} (untrained {found.dev['start']:.3f}, BM25 {found.dev['bm25']:.3f}), "
                f"{found.seconds:.0f} s"
            )
            reporter.update("All runs", done / len(runs))
    return failures


def cut_splits(splits: Splits, cut: int) -> Splits:
    """The splits with this many training lists, or pairs, and fewer dev lists; 0 keeps everything."""
    if not cut:
        return splits
    return {**splits, "train": cut_lists(splits["train"], cut), "dev": cut_lists(splits["dev"], DEV_LISTS)}


def cut_lists(pairs: Pairs, count: int) -> Pairs:
    """This many random lists, always the same ones."""
    lists = np.random.default_rng(0).permutation(pairs.lists)[:count]
    return pairs.take(np.flatnonzero(np.isin(pairs.group, lists)))


def _groups(runs: Sequence[PanelRun]) -> Iterator[list[PanelRun]]:
    """Consecutive runs on the same data, which is read once."""
    group: list[PanelRun] = []
    for run in runs:
        if group and (run.dataset, run.cut) != (group[0].dataset, group[0].cut):
            yield group
            group = []
        group.append(run)
    if group:
        yield group


def _train_and_test(spec: RunSpec, splits: Splits) -> dict[str, Any]:
    return _measure(spec, splits, test=True)


def _train_only(spec: RunSpec, splits: Splits) -> dict[str, Any]:
    return _measure(spec, splits, test=False)


def _measure(spec: RunSpec, splits: Splits, test: bool) -> dict[str, Any]:
    """The fields of a PanelResult that come of a run."""
    started = time.process_time()
    run = train(
        spec.model,
        splits["train"],
        splits["dev"],
        settings=spec.settings,
        options={**spec.options, "seed": spec.seed},
        baseline=False,
    )
    check_finished(run.history)
    seconds = time.process_time() - started
    dev, metric = splits["dev"], default_metric(splits["dev"])
    scorer = run.trained.scorer()
    scores, bm25 = scorer.score_pairs(dev), bm25_scores(splits["train"], dev)
    threshold, bm25_threshold = (_threshold(dev, each, metric) for each in (scores, bm25))
    own = _value(dev, scores, metric, threshold)
    found: dict[str, Any] = {
        "model": spec.model,
        "seed": spec.seed,
        "settings": dict(spec.settings),
        "options": dict(spec.options),
        "metric": metric,
        "dev": {
            "model": own,
            "start": own if run.history.start is None else run.history.start,
            "bm25": _value(dev, bm25, metric, bm25_threshold),
        },
        "test": {},
        "low": None,
        "high": None,
        "best_epoch": run.history.best_epoch or 0,
        "seconds": round(seconds, 1),
    }
    if test:
        pairs = splits["test"]
        a, b = scorer.score_pairs(pairs), bm25_scores(splits["train"], pairs)
        found["test"] = {
            "model": _value(pairs, a, metric, threshold),
            "bm25": _value(pairs, b, metric, bm25_threshold),
        }
        found["low"], found["high"] = _interval(pairs, a, b, metric, threshold, bm25_threshold)
    return found


def _threshold(dev: Pairs, scores: Scores, metric: str) -> float | None:
    return best_threshold(scores, dev.labels) if metric == "accuracy" else None


def _value(pairs: Pairs, scores: Scores, metric: str, threshold: float | None) -> float:
    return round(evaluate_scores(pairs, scores, threshold=threshold).metrics[metric], 6)


def _interval(
    pairs: Pairs, a: Scores, b: Scores, metric: str, threshold_a: float | None, threshold_b: float | None
) -> tuple[float, float]:
    """The 95 % interval of the difference of two models, by resampling lists or pairs."""
    if metric == "Spearman":
        differences = _resampled_spearman(pairs.labels, a) - _resampled_spearman(pairs.labels, b)
        low, high = np.quantile(differences, [0.025, 0.975]).tolist()
    else:
        values = _per_item(pairs, a, metric, threshold_a), _per_item(pairs, b, metric, threshold_b)
        found = paired_bootstrap(*values, rounds=ROUNDS)
        low, high = found.low, found.high
    return round(low, 6), round(high, 6)


def _resampled_spearman(labels: NDArray[np.float32], scores: Scores) -> NDArray[np.float64]:
    rng, n = np.random.default_rng(0), len(labels)  # the same pairs are drawn for every model
    samples = (rng.integers(n, size=n) for _ in range(ROUNDS // 2))
    return np.array([spearman(scores[rows], labels[rows]) for rows in samples])


def _per_item(pairs: Pairs, scores: Scores, metric: str, threshold: float | None) -> NDArray[np.float64]:
    if threshold is None:
        return np.asarray(evaluate_scores(pairs, scores).per_list[metric])
    positive = np.asarray(scores, np.float64) >= threshold
    return np.asarray(positive == (pairs.labels > 0), np.float64)
