"""Searches the learning rate, the initial scale and settings of a model that do best on dev."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.core.files import write_json
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits, train_dev_test
from pairlight.experiments.executor import Executor, Failed, SerialExecutor
from pairlight.experiments.records import Record, Value, Values
from pairlight.experiments.runner import RunLog
from pairlight.experiments.runs import check_finished
from pairlight.experiments.spec import RunSpec
from pairlight.models import model_class
from pairlight.models.settings import check_settings
from pairlight.training.config import TrainingConfig
from pairlight.training.examples import with_mined_negatives
from pairlight.training.trainer import train as train_model

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

SETTINGS_FILE, JOURNAL_FILE = "settings.json", "study.journal"
LR_FACTOR = 10.0  # the learning rate is searched from a tenth of the model's default to ten times that
INIT_SCALES = (0.01, 0.5)

Choices = Mapping[str, Sequence[Value]]


@dataclass(frozen=True)
class TrialResult(Record):
    """What a trial measured."""

    metric: str
    value: float | None  # the best dev metric; None if the model has nothing to train


@dataclass(frozen=True)
class TuneResult(Record):
    """The best trial, in the form that training reads settings and options from."""

    model: str
    settings: Values
    options: Values
    dev: dict[str, float]
    trials: int  # that gave an answer


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
    reporter: ProgressReporter | None = None,
) -> TuneResult:
    """Run trials until `out` contains `trials` of them, and write the best one to settings.json there.

    The learning rate and the initial scale are searched unless `options` fixes them, and the settings of `choices`
    among the given values. Without `dev`, `train` is split as `compare` does, and the test lists are not used.
    """
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
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
    identity = {
        "model": model,
        "choices": values,
        "options": dict(options),
        "train": train.digest(),
        "dev": dev.digest(),
    }
    out.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        try:
            storage = JournalStorage(JournalFileBackend(str(out / JOURNAL_FILE)))
            study = optuna.create_study(storage=storage, study_name="tune", direction="maximize", load_if_exists=True)
        except (ValueError, KeyError):
            raise InputError(
                f"{out / JOURNAL_FILE} is damaged: choose another folder, or delete it.", option="out"
            ) from None
        _check_same_study(study, identity, out)
        finished = len(_finished(study))
        # A continued study has its own random stream, so that it does not repeat the first trials.
        study.sampler = optuna.samplers.TPESampler(seed=(config.seed + 1_000_003 * finished) % 2**32)
        for number in range(finished + 1, trials + 1):
            trial = study.ask()
            settings, chosen = _suggest(trial, model, values, options)
            spec = RunSpec(model, config.seed, settings, {k: v for k, v in chosen.items() if k != "seed"})
            try:
                (run,) = executor.submit([spec], run_trial, {"train": train, "dev": dev})
            except KeyboardInterrupt:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
            if isinstance(run, Failed):
                if not run.diverged:
                    raise run.error
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                line = "the loss became infinite or NaN"  # an answer too: the learning rate is too high
            else:
                if run.result.value is None:
                    raise InputError(f"{model} has no weights to train, so there is nothing to tune.", option="model")
                trial.set_user_attr("settings", settings)
                trial.set_user_attr("options", chosen)
                trial.set_user_attr("metric", run.result.metric)
                study.tell(trial, run.result.value)
                line = f"dev {run.result.metric} {run.result.value:.4f}"
            best = _best(study)
            log.completed(f"Trial {number}: {line}" + ("" if best is None else f", best {best:.4f}"), run.notes)
            log.reporter.update("Tuning", number / trials, f"{number} of {trials} trials")
    if _best(study) is None:
        raise InputError(f"No trial in {out} was finished: run it again, or with a lower learning rate.", option="lr")
    found = study.best_trial
    result = TuneResult(
        model,
        found.user_attrs["settings"],
        found.user_attrs["options"],
        {found.user_attrs["metric"]: study.best_value},
        len(_finished(study)),
    )
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


def _suggest(
    trial: "Trial", model: str, choices: Choices, options: Values
) -> tuple[dict[str, Value], dict[str, Value]]:
    settings: dict[str, Any] = {name: trial.suggest_categorical(name, list(each)) for name, each in choices.items()}
    default = TrainingConfig.of(model_class(model).training_options(settings), {})
    chosen = dict(options)
    if "lr" not in chosen:
        chosen["lr"] = trial.suggest_float("lr", default.lr / LR_FACTOR, default.lr * LR_FACTOR, log=True)
    if "init_scale" not in chosen:
        chosen["init_scale"] = trial.suggest_float("init_scale", *INIT_SCALES, log=True)
    return settings, chosen


def _finished(study: "Study") -> "list[FrozenTrial]":
    """Trials that gave an answer, which interrupted ones did not."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.name in ("COMPLETE", "FAIL")]


def _best(study: "Study") -> float | None:
    return max((trial.value for trial in _finished(study) if trial.value is not None), default=None)


def _check_same_study(study: "Study", identity: dict[str, Any], out: Path) -> None:
    identity = json.loads(json.dumps(identity))
    known = study.user_attrs.get("identity")
    if known is None:
        study.set_user_attr("identity", identity)
    elif known != identity:
        different = " and ".join(name for name in identity if known.get(name) != identity[name])
        raise InputError(f"{out} contains a study with other {different}: choose another folder.", option="out")
