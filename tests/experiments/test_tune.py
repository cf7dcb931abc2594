"""Tuning searches on dev, continues where it stopped, and writes settings that training reads."""

import json
from pathlib import Path

import pytest

from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.experiments.executor import Completed, Failed, ProcessExecutor
from pairlight.experiments.records import Values
from pairlight.experiments.tune import SETTINGS_FILE, TrialResult, TuneResult, tune
from toy_pairs import overlap

PAIRS = overlap(20, seed=0)
FIXED: Values = {"vectors": "none", "epochs": 1}
CHOICES = {"hidden": ["2", "3"], "dim": ["4"]}


class Lines(ProgressReporter):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


class Answers:
    """An executor that returns prepared answers and records what it was asked."""

    def __init__(self, *answers) -> None:
        self.answers, self.specs = list(answers), []

    def submit(self, specs, work, splits):
        self.specs += specs
        for spec in specs:
            answer = self.answers.pop(0)
            if isinstance(answer, BaseException):
                raise answer
            yield answer(spec)


def value(number: float | None):
    return lambda spec: Completed(spec, TrialResult("MAP", number), ("careful",))


def failure(error: InputError, diverged: bool):
    return lambda spec: Failed(spec, error, diverged)


def tuned(out: Path, trials: int, model: str = "lstm-rnn", **given) -> TuneResult:
    arguments = {"choices": CHOICES, "options": FIXED} | given
    return tune(PAIRS, None, model, out, trials=trials, **arguments)


def test_a_study_continues_where_it_stopped(tmp_path: Path) -> None:
    first = tuned(tmp_path, 2)
    assert first.trials == 2
    assert first.settings["hidden"] in (2, 3)
    assert 0.0001 <= first.options["lr"] <= 0.01
    assert 0.01 <= first.options["init_scale"] <= 0.5
    assert first.options["epochs"] == 1
    reporter = Lines()
    best = tuned(tmp_path, 4, reporter=reporter)
    assert [line.split(":")[0] for line in reporter.lines] == ["Trial 3", "Trial 4"]
    assert best.trials == 4
    assert best.dev["MAP"] >= first.dev["MAP"]
    assert json.loads((tmp_path / SETTINGS_FILE).read_text()) == best.as_dict()
    assert tuned(tmp_path, 4) == best


def test_the_learning_rate_is_searched_around_the_default_of_the_form_of_the_model(tmp_path: Path) -> None:
    executor = Answers(*[value(0.5)] * 8)
    tuned(tmp_path, 8, choices={"evidence": ["false", "true"]}, executor=executor)
    low, high = (
        [spec.options["lr"] for spec in executor.specs if spec.settings["evidence"] == e] for e in (True, False)
    )
    assert low
    assert all(0.0001 <= lr <= 0.01 for lr in low)
    assert high
    assert all(0.003 <= lr <= 0.3 for lr in high)


def test_a_trial_may_run_in_another_process(tmp_path: Path) -> None:
    assert tuned(tmp_path / "process", 1, executor=ProcessExecutor(1)) == tuned(tmp_path / "here", 1)


def test_options_that_are_given_are_not_searched(tmp_path: Path) -> None:
    executor = Answers(value(0.5))
    found = tuned(tmp_path, 1, options={**FIXED, "lr": 0.07, "init_scale": 0.2, "seed": 7}, executor=executor)
    assert (found.options["lr"], found.options["init_scale"], found.options["seed"]) == (0.07, 0.2, 7)
    (spec,) = executor.specs
    assert spec.seed == 7
    assert "seed" not in spec.options


def test_a_diverged_trial_counts_and_the_best_of_the_others_is_kept(tmp_path: Path) -> None:
    reporter = Lines()
    diverged = failure(InputError("The loss became nan."), diverged=True)
    found = tuned(tmp_path, 3, executor=Answers(value(0.25), diverged, value(0.5)), reporter=reporter)
    assert (found.trials, found.dev) == (3, {"MAP": 0.5})
    assert reporter.lines == [
        "Trial 1: dev MAP 0.2500, best 0.2500",
        "Note: careful",
        "Trial 2: the loss became infinite or NaN, best 0.2500",
        "Trial 3: dev MAP 0.5000, best 0.5000",
    ]


def test_ctrl_c_keeps_finished_trials_and_the_interrupted_one_is_not_counted(tmp_path: Path) -> None:
    found = tuned(tmp_path, 5, executor=Answers(value(0.5), KeyboardInterrupt()))
    assert found.trials == 1
    assert tuned(tmp_path, 2, executor=Answers(value(0.75))).trials == 2
    with pytest.raises(InputError, match="No trial in"):
        tuned(tmp_path / "other", 2, executor=Answers(KeyboardInterrupt()))


def test_ctrl_c_during_training_is_not_a_result(tmp_path: Path, monkeypatch) -> None:
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairlight.training.loop._train_epoch", interrupted)
    with pytest.raises(InputError, match="No trial in"):
        tuned(tmp_path, 2)


def test_another_study_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    tuned(tmp_path, 1, executor=Answers(value(0.5)))
    with pytest.raises(InputError, match="contains a study with other options: choose another folder") as error:
        tuned(tmp_path, 2, options={**FIXED, "batch": 7})
    assert error.value.option == "out"


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("bm25", {"choices": {}}, "bm25 has no weights to train"),
        ("lstm-rnn", {"options": {"epochs": 0}}, "epochs=0 trains nothing"),
        ("lstm-rnn", {"choices": {"kk": ["3"]}}, "No setting named 'kk'"),
        ("lstm-rnn", {"choices": {"hidden": ["0"]}}, "hidden=0 is out of range"),
        ("lstm-rnn", {"options": {"lr": -1.0}}, "lr=-1"),
        ("magic", {}, "No model named 'magic'"),
        ("lstm-rnn", {"options": {**FIXED, "metric": "accuracy", "loss": "hinge", "negatives": "list"}}, "accuracy"),
    ],
)
def test_what_cannot_be_tuned_is_one_clear_line(tmp_path: Path, model: str, given: dict, message: str) -> None:
    if "metric" in given.get("options", {}):
        given = given | {"executor": Answers(failure(InputError("accuracy cannot be computed"), diverged=False))}
    with pytest.raises(InputError, match=message):
        tuned(tmp_path, 1, model, **given)


def test_a_damaged_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text("garbage")
    with pytest.raises(InputError, match=r"study\.json is damaged \(not valid JSON\): delete it if the trials"):
        tuned(tmp_path, 1)


def test_a_damaged_trial_costs_only_itself(tmp_path: Path) -> None:
    tuned(tmp_path, 3, executor=Answers(value(0.5), value(0.25), value(0.75)))
    path = tmp_path / "trials" / "0002.json"
    path.write_bytes(path.read_bytes()[:-20])
    reporter = Lines()
    with pytest.warns(UserWarning, match=r"0002\.json is damaged \(not valid JSON\): the trial is repeated"):
        found = tuned(tmp_path, 3, executor=Answers(value(0.3)), reporter=reporter)
    assert reporter.lines[0] == "Trial 2: dev MAP 0.3000, best 0.7500"
    assert (found.trials, found.dev) == (3, {"MAP": 0.75})


def test_a_study_that_was_stopped_tries_the_same_as_one_that_was_not(tmp_path: Path) -> None:
    whole, parts = Answers(*[value(n / 20) for n in range(15)]), []
    tuned(tmp_path / "whole", 15, executor=whole)
    for trials in (4, 11, 15):
        executor = Answers(*[value(n / 20) for n in range(len(parts), trials)])
        tuned(tmp_path / "parts", trials, executor=executor)
        parts += executor.specs
    assert parts == whole.specs


def test_two_runs_in_one_folder_are_refused_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    def second(spec):
        with pytest.raises(InputError, match="Another run is writing to"):
            tuned(tmp_path, 1)
        return value(0.5)(spec)

    tuned(tmp_path, 1, executor=Answers(second))
    (tmp_path / ".pairlight-lock").write_text("1234567 new")  # as a killed process leaves it
    assert tuned(tmp_path, 2, executor=Answers(value(0.5))).trials == 2
