"""Searches the learning rate, the initial scale and settings of a model that do best on dev."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.core.files import write_json
from pairlight.core.folders import locked_folder
from pairlight.core.progress import ProgressReporter
from pairlight.core.records import RecordError
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits, train_dev_test
from pairlight.evaluation.evaluate import default_metric
from pairlight.experiments.executor import Executor, Failed, SerialExecutor
from pairlight.experiments.records import Record, Value, Values, read_record, write_record
from pairlight.experiments.runner import RunLog
from pairlight.experiments.runs import check_finished
from pairlight.experiments.spec import RunSpec
from pairlight.models import model_class
from pairlight.models.settings import check_settings
from pairlight.training.config import TrainingConfig
from pairlight.training.examples import with_mined_negatives
from pairlight.training.trainer import train as train_model

if TYPE_CHECKING:
    from optuna.trial import BaseTrial, FrozenTrial

SETTINGS_FILE, STUDY_FILE, TRIALS_FOLDER = "settings.json", "study.json", "trials"
LR_FACTOR = 10.0  # the learning rate is searched from a tenth of the model's default to ten times that
INIT_SCALES = (0.01, 0.5)

Choices = Mapping[str, Sequence[Value]]


@dataclass(frozen=True)
class TrialResult(Record):
    """What a trial measured."""

    metric: str
    value: float | None  # the best dev metric; None if the model has nothing to train


@dataclass(frozen=True)
class TrialRecord(Record):
    """A trial that gave an answer, as it is stored."""

    settings: Values
    options: Values
    params: Values  # what was searched, with the space of each as JSON
    spaces: dict[str, str]
    metric: str
    value: float | None  # None if the loss became infinite or NaN


@dataclass(frozen=True)
class _Study(Record):
    """What the trials in a folder have in common."""

    model: str
    choices: dict[str, list[Value]]
    options: Values
    train: str  # checksums
    dev: str


@dataclass(frozen=True)
class TuneResult(Record):
    """The best trial, in the form that training reads settings and options from."""

    model: str
    settings: Values
    options: Values
    dev: dict[str, float]
    trials: int  # that gave an answer


@dataclass(frozen=True)
class SearchSpace:
    """What is searched for a model, besides the settings and options that are fixed."""

    model: str
    seed: int
    choices: Choices
    options: Values

    def values(self, trial: "BaseTrial") -> tuple[dict[str, Value], dict[str, Value]]:
        """The settings and options of a trial."""
        settings: dict[str, Any] = {
            name: trial.suggest_categorical(name, list(each)) for name, each in self.choices.items()
        }
        default = TrainingConfig.of(model_class(self.model).training_options(settings), {})
        chosen = dict(self.options)
        if "lr" not in chosen:
            chosen["lr"] = trial.suggest_float("lr", default.lr / LR_FACTOR, default.lr * LR_FACTOR, log=True)
        if "init_scale" not in chosen:
            chosen["init_scale"] = trial.suggest_float("init_scale", *INIT_SCALES, log=True)
        return settings, chosen

    def suggest(self, trial: "BaseTrial") -> RunSpec:
        """The run of a trial."""
        settings, chosen = self.values(trial)
        return RunSpec(self.model, self.seed, settings, {k: v for k, v in chosen.items() if k != "seed"})

    def record(self, trial: "BaseTrial", metric: str, value: float | None) -> TrialRecord:
        """A trial as it is stored."""
        from optuna.distributions import distribution_to_json

        settings, chosen = self.values(trial)
        spaces = {name: distribution_to_json(each) for name, each in trial.distributions.items()}
        return TrialRecord(settings, chosen, trial.params, spaces, metric, value)


@dataclass(frozen=True)
class TuneTask:
    """What a search runs: this number of trials, each of which it reports with `finished(trial, metric, value)`."""

    space: SearchSpace
    splits: Splits
    metric: str
    earlier: "list[FrozenTrial]"  # that gave an answer
    trials: int
    epochs: int
    finished: Callable[..., None]


Search = Callable[[TuneTask], None]


def tune(
    train: Pairs,
    dev: Pairs | None,
    model: str,
    out: Path,
    *,
    trials: int,
    choices: Choices,
    options: Values,
    executor: Executor | None = None,
    search: Search | None = None,
    reporter: ProgressReporter | None = None,
) -> TuneResult:
    """Run trials until `out` contains `trials` of them, and write the best one to settings.json there.

    The learning rate and the initial scale are searched unless `options` fixes them, and the settings of `choices`
    among the given values. Without `dev`, `train` is split as `compare` does, and the test lists are not used.
    `search` runs all missing trials itself, for example on a cluster.
    """
    try:
        import optuna
    except ImportError:
        raise InputError("Tuning needs optuna: pip install 'pairlight[tune]'.") from None

    executor, log = executor or SerialExecutor(), RunLog(reporter or ProgressReporter())
    kind = model_class(model)
    values = {
        name: [check_settings(model, kind, {name: each})[name] for each in some] for name, some in choices.items()
    }
    config = TrainingConfig.of(kind.training_defaults, options)
    if not config.epochs:
        raise InputError("epochs=0 trains nothing, so there is nothing to tune: set it to 1 or more.", option="epochs")
    if dev is None:
        splits = train_dev_test(train)
        train, dev = splits["train"], splits["dev"]
    dev = with_mined_negatives(dev, TrainingConfig.of({}, options))
    study_of = _Study(model, values, dict(options), train.digest(), dev.digest())
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with locked_folder(out):
        _check_same_study(out / STUDY_FILE, study_of)
        known = _read_trials(out / TRIALS_FOLDER)
        space = SearchSpace(model, config.seed, values, options)

        def finished(trial: "BaseTrial", metric: str, value: float | None, notes: Sequence[str] = ()) -> None:
            """Keep and print a trial that gave an answer; the value is None if its loss became infinite or NaN."""
            number = next(i for i in count(1) if i not in known)
            known[number] = space.record(trial, metric, value)
            write_record(_trial_file(out / TRIALS_FOLDER, number), known[number])
            best = max((each.value for each in known.values() if each.value is not None), default=None)
            line = "the loss became infinite or NaN" if value is None else f"dev {metric} {value:.4f}"
            log.completed(f"Trial {number}: {line}" + ("" if best is None else f", best {best:.4f}"), notes)
            log.reporter.update("Tuning", len(known) / trials, f"{len(known)} of {trials} trials")

        if search is not None and len(known) < trials:
            metric = default_metric(dev) if config.metric == "auto" else config.metric
            earlier = [_frozen(each) for _, each in sorted(known.items())]
            splits = {"train": train, "dev": dev}
            search(TuneTask(space, splits, metric, earlier, trials - len(known), config.epochs, finished))
        study = optuna.create_study(direction="maximize")
        for number in range(1, trials + 1):
            if number in known:
                study.add_trial(_frozen(known[number]))
                continue
            # A random stream of its own for every trial, so that a continued study is as one that never stopped.
            study.sampler = optuna.samplers.TPESampler(seed=(config.seed + 1_000_003 * (number - 1)) % 2**32)
            trial = study.ask()
            spec = space.suggest(trial)
            try:
                (run,) = executor.submit([spec], run_trial, {"train": train, "dev": dev})
            except KeyboardInterrupt:
                break
            if isinstance(run, Failed):
                if not run.diverged:
                    raise run.error
                study.tell(trial, state=optuna.trial.TrialState.FAIL)  # an answer too: the learning rate is too high
                finished(trial, "", None, run.notes)
                continue
            if run.result.value is None:
                raise nothing_to_tune(model)
            study.tell(trial, run.result.value)
            finished(trial, run.result.metric, run.result.value, run.notes)
        good = [each for _, each in sorted(known.items()) if each.value is not None]
        if not good:
            raise InputError(
                f"No trial in {out} was finished: run it again, or with a lower learning rate.", option="lr"
            )
        found = max(good, key=lambda each: each.value or 0.0)
        result = TuneResult(model, found.settings, found.options, {found.metric: found.value or 0.0}, len(known))
        write_json(out / SETTINGS_FILE, result.as_dict())
    return result


def run_trial(spec: RunSpec, splits: Splits) -> TrialResult:
    """Train once; the dev metric of the best epoch is the result."""
    options = {**spec.options, "seed": spec.seed}
    run = train_model(
        spec.model, splits["train"], splits["dev"], settings=spec.settings, options=options, baseline=False
    )
    check_finished(run.history)
    return TrialResult(str(run.trained.training["metric"]), run.history.best)


def nothing_to_tune(model: str) -> InputError:
    return InputError(f"{model} has no weights to train, so there is nothing to tune.", option="model")


def _frozen(record: TrialRecord) -> "FrozenTrial":
    from optuna.distributions import json_to_distribution
    from optuna.trial import TrialState, create_trial

    return create_trial(
        state=TrialState.FAIL if record.value is None else TrialState.COMPLETE,
        value=record.value,
        params=dict(record.params),
        distributions={name: json_to_distribution(each) for name, each in record.spaces.items()},
    )


def _trial_file(folder: Path, number: int) -> Path:
    return folder / f"{number:04}.json"


def _read_trials(folder: Path) -> dict[int, TrialRecord]:
    """The trials that gave an answer, by number; a trial whose file is damaged is repeated, with a warning."""
    found = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            if path.stem.isdecimal():
                found[int(path.stem)] = read_record(path, TrialRecord, "the trial is repeated")
        except RecordError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _check_same_study(path: Path, study: _Study) -> None:
    if path.exists():
        fix = "delete it if the trials in this folder are of the same study, or choose another folder"
        known = read_record(path, _Study, fix)
        different = " and ".join(name for name, value in study.as_dict().items() if known.as_dict()[name] != value)
        if different:
            raise InputError(
                f"{path.parent} contains a study with other {different}: choose another folder.", option="out"
            )
    write_record(path, study)
