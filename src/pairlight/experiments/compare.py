"""Compares models on the same data: trains each with several seeds and writes a leaderboard."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pairlight.core.errors import InputError, unknown_name
from pairlight.core.folders import locked_folder
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits, split, train_dev_test
from pairlight.evaluation.evaluate import check_can_evaluate, default_metric, evaluate_scores, task_type
from pairlight.experiments.curves import draw_curves
from pairlight.experiments.dataset_settings import PAPER_RESULTS
from pairlight.experiments.disagreements import write_disagreements
from pairlight.experiments.executor import Completed, Executor
from pairlight.experiments.leaderboard import Leaderboard, LeaderboardRow, leaderboard_rows, write_leaderboard
from pairlight.experiments.records import Record, Values, read_record, write_record
from pairlight.experiments.runner import RunLog, check_failures, run_all
from pairlight.experiments.runs import train_and_save
from pairlight.experiments.spec import RunResult, RunSpec
from pairlight.experiments.store import ResultStore
from pairlight.models import model_class
from pairlight.models.settings import check_settings, model_settings
from pairlight.training.config import TrainingConfig
from pairlight.training.examples import with_mined_negatives

_TASKS = {"ranking": "ranking lists", "pairs": "independent pairs"}


def complete_splits(train: Pairs, dev: Pairs | None = None, test: Pairs | None = None, *, least: int = 1) -> Splits:
    """Train, dev and test; those that are not given are split off at random, at least `least` ranking lists each."""
    if test is None:
        if dev is not None:
            raise InputError(
                "There are dev pairs but no test pairs: give both, or neither to split the data 8:1:1.", option="test"
            )
        return train_dev_test(train, least=least)
    if dev is None:
        train, dev = split(train, (0.9, 0.1))
    return {"train": train, "dev": dev, "test": test}


def with_settings(specs: Sequence[RunSpec], settings: Values) -> list[RunSpec]:
    """The runs with these settings for every model that has them; a setting that no model has is an error."""
    known = {spec.model: model_settings(model_class(spec.model)) for spec in specs}
    for name in settings:
        if not any(name in own for own in known.values()):
            raise unknown_name(
                "setting", name, sorted({each for own in known.values() for each in own}), option="settings"
            )
    changed = []
    for spec in specs:
        own = {name: value for name, value in settings.items() if name in known[spec.model]}
        checked = check_settings(spec.model, model_class(spec.model), {**spec.settings, **own})
        changed.append(replace(spec, settings=checked))
    return changed


def compare_models(
    splits: Splits,
    specs: list[RunSpec],
    out: Path,
    *,
    dataset: str,
    options: Values,
    command: str,
    executor: Executor,
    reporter: ProgressReporter | None = None,
) -> Leaderboard:
    """Run the specifications of `plan_runs` and write the leaderboard to `out`; finished runs are not repeated.

    `options` are the training options that were given for all models. The leaderboard has a row for every model with
    a finished run. If no run finishes, the first failure is raised.
    """
    reporter = reporter or ProgressReporter()
    config = TrainingConfig.of({}, options)
    splits = splits | {name: with_mined_negatives(splits[name], config) for name in ("dev", "test")}
    metric = choose_metric(splits, config.metric)
    with locked_folder(out):
        return _compare(splits, specs, out, dataset, metric, command, executor, reporter)


def _compare(
    splits: Splits,
    specs: list[RunSpec],
    out: Path,
    dataset: str,
    metric: str,
    command: str,
    executor: Executor,
    reporter: ProgressReporter,
) -> Leaderboard:
    _claim(out, splits)
    models = len({spec.model for spec in specs})
    runs = out / "runs"
    reporter.say(f"Models: {models}, runs: {len(specs)}. Finished runs are kept in {runs}.")
    reporter.update("Comparing", 0.0, f"0 of {len(specs)} runs")
    log, first = RunLog(reporter), specs[0].seed
    finished = 0

    def completed(run: Completed[RunResult], done: float) -> None:
        nonlocal finished
        finished += 1
        result = run.result
        line = f"{result.model}, seed {result.seed}: dev {metric} {result.dev[metric]:.4f}, {result.seconds:.0f} s"
        log.completed(line, run.notes)
        reporter.update("Comparing", done, f"{finished} of {len(specs)} runs")

    work = partial(train_and_save, out / "models", first)
    store = ResultStore(runs, RunResult)
    results = run_all(specs, work, splits, store, executor, on_completed=completed, on_failed=log.failed)
    if not results:
        check_failures(log.failures)
    rows = leaderboard_rows(list(results.values()), metric, PAPER_RESULTS.get(dataset, {}))
    folders = {spec.model: out / "models" / spec.name for spec in specs if spec.seed == first}
    rows = _with_disagreements(rows, [folders[row.model] for row in rows], splits["test"], out, reporter)
    curves = _draw_curves(out / "curves.png", rows, list(results.values()), metric, reporter)
    leaderboard = Leaderboard(dataset, metric, command, tuple(rows), curves, tuple(log.failures))
    write_leaderboard(out, leaderboard)
    return leaderboard


def choose_metric(splits: Splits, wanted: str) -> str:
    """The metric that models are ranked by; an InputError if dev and test cannot both be evaluated with it."""
    both = splits["dev"], splits["test"]
    for name, pairs in zip(("dev", "test"), both, strict=True):
        check_can_evaluate(pairs, f"the {name} pairs")
    tasks = [_TASKS[task_type(pairs)] for pairs in both]
    if tasks[0] != tasks[1]:
        raise InputError(
            f"The dev pairs form {tasks[0]} and the test pairs {tasks[1]}, which have different metrics: give dev and "
            "test pairs of the same kind.",
            option="dev",
        )
    dev, test = (list(evaluate_scores(pairs, [0.0] * len(pairs), threshold=0.0).metrics) for pairs in both)
    usable = [metric for metric in dev if metric in test]
    candidates = [default_metric(pairs) for pairs in both] if wanted == "auto" else [wanted]
    for metric in candidates:
        if metric in usable:
            return metric
    raise InputError(
        f"metric={candidates[0]!r} cannot be computed on {tasks[0]} like these: choose from {', '.join(usable)}.",
        option="metric",
    )


@dataclass(frozen=True)
class ComparedData(Record):
    """The checksums of the data that the runs in a folder were made with."""

    train: str
    dev: str
    test: str


def _claim(out: Path, splits: Splits) -> None:
    """Make sure that the runs in `out` are of the same data; where it is not known, they are taken for it."""
    data = ComparedData(**{name: splits[name].digest() for name in ("train", "dev", "test")})
    path = out / "data.json"
    if path.exists() and (out / "runs").is_dir() and any((out / "runs").iterdir()):
        fix = "delete it if the runs in this folder are of the same data, or choose another folder"
        if read_record(path, ComparedData, fix) != data:
            raise InputError(f"{out} contains runs on other data: choose another folder.", option="out")
    write_record(path, data)


def _with_disagreements(
    rows: list[LeaderboardRow], folders: list[Path], test: Pairs, out: Path, reporter: ProgressReporter
) -> list[LeaderboardRow]:
    found = write_disagreements(
        out / "disagreements", folders, test, lambda done: reporter.update("Explaining disagreements", done)
    )
    shown = rows[:1]
    for row, summary in zip(rows[1:], found, strict=True):
        if summary is None:
            reporter.say(
                f"{row.model}: disagreements are not shown, since its model was not saved; delete its run to repeat it."
            )
            shown.append(row)
        else:
            shown.append(replace(row, disagreements=replace(summary, page=f"disagreements/{summary.page}")))
    return shown


def _draw_curves(
    path: Path, rows: list[LeaderboardRow], results: list[RunResult], metric: str, reporter: ProgressReporter
) -> Path | None:
    """Draw the learning curves of all runs, if any model was trained and matplotlib is installed."""
    path.unlink(missing_ok=True)
    curves = {row.model: [result.epochs for result in results if result.model == row.model] for row in rows}
    try:
        draw_curves(path, curves, metric)
    except InputError as error:
        reporter.say(f"Learning curves are not drawn. {error}")
    return path if path.exists() else None
