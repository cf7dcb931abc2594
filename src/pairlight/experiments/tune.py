"""Which learning rate, start and settings suit a model on these pairs: tried one after another, judged on dev alone."""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.matcher import Matcher
from pairlight.models import checked, model_class
from pairlight.training.loop import DivergedError
from pairlight.training.config import TrainingConfig

if TYPE_CHECKING:
    from optuna import Study, Trial

SETTINGS, JOURNAL = "settings.json", "study.journal"
TIMES = 10.0  # the learning rate is sought from a tenth of the model's own to ten times it
SCALES = (0.01, 0.5)

Told = Callable[[int, float | None, float | None], None]  # trial, its dev metric, the best so far


def tune(
    train: Pairs,
    dev: Pairs,
    model: str,
    folder: Path,
    *,
    trials: int,
    choices: Mapping[str, Sequence[Any]],
    options: Mapping[str, Any],
    told: Told,
) -> dict[str, Any]:
    """Try until `folder` holds `trials` trials, and write the best as a file that `train --settings` takes.

    The learning rate and the scale of the first weights are sought unless `options` fixes them, and the settings of
    `choices` among the values given.
    """
    try:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise InputError("Tuning needs optuna: pip install 'pairlight[tune]'.") from None

    kept = {name: [checked(model, {name: value})[name] for value in values] for name, values in choices.items()}
    usual = TrainingConfig.of(model_class(model).training_defaults, options)
    if not usual.epochs:
        raise InputError("epochs=0 trains nothing, and there is nothing to be tuned: give 1 or more.")
    about = {"model": model, "choices": kept, "options": dict(options), "train": train.digest(), "dev": dev.digest()}
    folder.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        try:
            storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
            study = optuna.create_study(storage=storage, study_name="tune", direction="maximize", load_if_exists=True)
        except (ValueError, KeyError):
            raise InputError(f"{folder / JOURNAL} is damaged: give another folder to --out, or delete it.") from None
        _same(study, about, folder)
        ended = len(_ended(study))
        # A stopped study goes on with a stream of its own, so that it does not try the same again.
        study.sampler = optuna.samplers.TPESampler(seed=(usual.seed + 1_000_003 * ended) % 2**32)
        for number in range(ended + 1, trials + 1):
            trial = study.ask()
            settings, chosen = _drawn(trial, model, kept, options)
            matcher = Matcher(model, **settings)
            try:
                matcher.fit(train, dev, progress=False, **chosen)
            except DivergedError:  # a learning rate so high that the loss is lost is an answer too
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                told(number, None, _best(study))
                continue
            if matcher.history.interrupted:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
            if matcher.history.best is None:
                raise InputError(f"{model} has nothing to be tuned: it is not trained.")
            trial.set_user_attr("settings", settings)
            trial.set_user_attr("options", chosen)
            trial.set_user_attr("metric", matcher.options.metric)
            study.tell(trial, matcher.history.best)
            told(number, matcher.history.best, _best(study))
    if _best(study) is None:
        raise InputError(f"None of the trials in {folder} came to an end: run it again, or with a lower --lr.")
    best = study.best_trial
    found = {
        "model": model,
        "settings": best.user_attrs["settings"],
        "options": best.user_attrs["options"],
        "dev": {best.user_attrs["metric"]: best.value},
        "trials": len(_ended(study)),
    }
    write_text(folder / SETTINGS, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return found


def _drawn(
    trial: "Trial", model: str, choices: Mapping[str, Sequence[Any]], options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    usual = TrainingConfig.of(model_class(model).training_defaults, {})
    settings = {name: trial.suggest_categorical(name, list(values)) for name, values in choices.items()}
    chosen = dict(options)
    if "lr" not in chosen:
        chosen["lr"] = trial.suggest_float("lr", usual.lr / TIMES, usual.lr * TIMES, log=True)
    if "scale" not in chosen:
        chosen["scale"] = trial.suggest_float("scale", *SCALES, log=True)
    return settings, chosen


def _ended(study: "Study") -> list[Any]:
    """Trials that gave an answer; one that was stopped midway gave none."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.name in ("COMPLETE", "FAIL")]


def _best(study: "Study") -> float | None:
    values = [trial.value for trial in _ended(study) if trial.value is not None]
    return max(values, default=None)


def _same(study: "Study", about: dict[str, Any], folder: Path) -> None:
    known = study.user_attrs.get("about")
    if known is None:
        study.set_user_attr("about", about)
    elif known != json.loads(json.dumps(about)):
        different = ", ".join(name for name in about if known.get(name) != json.loads(json.dumps(about[name])))
        raise InputError(f"{folder} holds a study with another {different}: give another folder to --out.")
