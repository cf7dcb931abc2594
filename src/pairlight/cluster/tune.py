"""Searches settings with Ray Tune: Optuna suggests trials from the study, and ASHA stops those that fall behind."""

import logging
import math
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.cluster.connect import connected
from pairlight.core.errors import InputError
from pairlight.data.splits import Splits
from pairlight.evaluation.dev_metric import dev_metric
from pairlight.experiments.executor import Failed, run_spec
from pairlight.experiments.runs import check_finished
from pairlight.experiments.spec import RunSpec
from pairlight.experiments.tune import Search, SearchSpace, TrialResult, TuneTask, nothing_to_tune
from pairlight.training.trainer import train

if TYPE_CHECKING:
    from pairlight.inference.scorer import ModelScorer

RETRIES = 3  # of a trial whose worker died
VALUE = "value"  # the best dev metric so far
STUDY = "tune"
GRACE = 3  # reports before a trial may be stopped: the start, the linear fit and the first epoch


def ray_search(address: str, out: Path) -> Search:
    """A search on the cluster at this address, as many trials at a time as it has CPUs."""

    def search(task: TuneTask) -> None:
        with connected(address) as ray:
            _search(ray, task, out)

    return search


def _search(ray: Any, task: TuneTask, out: Path) -> None:
    import optuna
    from optuna.trial import FixedTrial
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler
    from ray.tune.search.optuna import OptunaSearch

    class Finished(tune.Callback):
        """Keeps every finished trial."""

        def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
            value = trial.last_result.get(VALUE)
            parameters = FixedTrial({name: trial.config[name] for name in trial.config})
            task.space.suggest(parameters)  # so that it knows the space of each
            diverged = value is None or not math.isfinite(value)
            task.finished(parameters, "" if diverged else task.metric, None if diverged else value)

    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"  # which prints tables to standard output
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(storage=storage, study_name=STUDY, direction="maximize").add_trials(task.earlier)
    # A random stream of its own for a continued study, so that it does not repeat the first trials.
    seed = (task.space.seed + 1_000_003 * len(task.earlier)) % 2**32
    algorithm = OptunaSearch(
        partial(_suggest, task.space),
        metric=VALUE,
        mode="max",
        sampler=optuna.samplers.TPESampler(seed=seed),
        study_name=STUDY,
        storage=storage,
    )
    trainable = tune.with_parameters(_trial, task=(task.space, task.metric, ray.put(task.splits)))
    done = tune.Tuner(
        tune.with_resources(trainable, {"CPU": 1}),
        tune_config=tune.TuneConfig(
            metric=VALUE,
            mode="max",
            search_alg=algorithm,
            scheduler=ASHAScheduler(max_t=task.epochs + GRACE, grace_period=GRACE),
            num_samples=task.trials,
        ),
        run_config=tune.RunConfig(
            storage_path=str((out / "ray").resolve()),
            failure_config=tune.FailureConfig(max_failures=RETRIES),
            callbacks=[Finished()],
            verbose=0,
        ),
    ).fit()
    if done.errors:
        message = str(done.errors[0]).strip().splitlines()[-1]
        raise InputError(message.removeprefix("pairlight.core.errors.InputError: "))


def _suggest(space: SearchSpace, trial: Any) -> None:
    space.suggest(trial)  # Ray collects what is suggested


def _trial(config: dict[str, Any], task: Any) -> None:
    """Train once and report the best dev metric after every epoch; Ray may end the process after a report."""
    import ray
    import torch
    from optuna.trial import FixedTrial
    from ray import tune

    space, metric, splits = task
    torch.set_num_threads(1)
    best = -math.inf

    def work(spec: RunSpec, splits: Splits) -> TrialResult:
        def measure(scorer: "ModelScorer") -> float:
            nonlocal best
            value = dev_metric(splits["dev"], scorer.score_pairs(splits["dev"]), metric)
            best = max(best, value)
            tune.report({VALUE: best})
            return value

        options = {**spec.options, "seed": spec.seed}
        run = train(
            spec.model, splits["train"], splits["dev"], settings=spec.settings, options=options, evaluate=measure
        )
        check_finished(run.history)
        return TrialResult(metric, run.history.best)

    run = run_spec(space.suggest(FixedTrial(config)), work, ray.get(splits))
    if isinstance(run, Failed):
        if not run.diverged:
            raise run.error
        tune.report({VALUE: -math.inf})  # an answer too: the learning rate is too high
    elif run.result.value is None:
        raise nothing_to_tune(space.model)
