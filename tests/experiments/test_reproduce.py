"""The papers' tables: every row can be built, and an experiment runs, resumes and is told beside the paper."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pairlight.evaluation.labelled import best_threshold

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.splits import split
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.experiments import data
from pairlight.experiments.compare import Cell
from pairlight.experiments.figures import draw_bars
from pairlight.experiments.papers import EXPERIMENTS, Experiment
from pairlight.experiments.report import write_report
from pairlight.experiments.reproduce import chosen_data, chosen_rows, run
from pairlight.experiments.sources import SOURCES, Source, card_of, parts_of
from pairlight.experiments.spec import every_epoch, per_list
from pairlight.models import build, checked
from pairlight.training.config import TrainingConfig
from toy_pairs import overlap

COUNTS = {
    "mv-lstm-k": 6,
    "mv-lstm-qa": 12,
    "mv-lstm-sc": 14,  # two are not in the paper
    "match-srnn": 11,
    "amv-lstm-wikiqa": 10,
    "amv-lstm-quora": 10,
}


@pytest.mark.parametrize("name", COUNTS)
def test_every_row_of_a_table_is_there_and_can_be_built(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert len({row.label for row in experiment.rows}) == COUNTS[name]
    for row in experiment.rows:
        build(row.model, 20, **checked(row.model, dict(row.settings)))
        TrainingConfig.of({}, dict(row.options))
    for on in experiment.on:
        assert on.data in SOURCES
        assert on.baseline in {row.label for row in experiment.rows}


def test_the_best_baseline_is_the_best_of_the_papers_figures_but_its_own_models() -> None:
    own = ("MV-LSTM (", "MV-LSTM-", "Match-SRNN", "Bi-Match", "aMV-LSTM")
    for experiment in EXPERIMENTS.values():
        for on in experiment.on:
            figures = {
                row.label: row.paper[on.metrics[0]]
                for row in experiment.rows
                if row.paper and not row.label.startswith(own)
            }
            if figures:
                assert on.baseline == max(figures, key=figures.__getitem__)


def test_what_does_better_on_one_data_set_is_taken_there_alone() -> None:
    experiment = EXPERIMENTS["mv-lstm-qa"]
    chitchat, squad = experiment.on
    for row in experiment.rows:
        assert chitchat.trained(row) == row
        assert (squad.trained(row) == row) == (row.model != "lstm-rnn")
    (row,) = chosen_rows(experiment, "lstm-rnn")
    assert (row.options["lr"], squad.trained(row).options) == (0.1, {"freeze": True, "lr": 0.03})


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The toy lists in place of two sets; counts how often they are made."""
    made: list[int] = []

    def make(limit, progress):
        made.append(1)
        progress(1.0)
        return dict(zip(("train", "dev", "test"), split(overlap(40, seed=0)), strict=True))

    for name in ("chitchat", "squad-sentences"):
        monkeypatch.setitem(SOURCES, name, Source("toy lists", "Made up.", make))
    return made


def ran(
    out: Path,
    seen: list[str],
    models: str | None = None,
    on: str | None = "chitchat",
    better: dict[str, dict[str, object]] | None = None,
    seeds: int = 2,
) -> list[dict]:
    """The table of three rows, of which `models` are trained on `on`; None of either trains nothing."""
    rows = *EXPERIMENTS["mv-lstm-qa"].rows[:2], EXPERIMENTS["mv-lstm-k"].rows[1]
    sets = tuple(replace(each, better=better or {}) for each in EXPERIMENTS["mv-lstm-k"].on)
    experiment = Experiment("A toy table", rows, sets)
    return run(
        experiment,
        chosen_rows(experiment, models),
        [] if on is None else chosen_data(experiment, on),
        out,
        scale="small",
        seeds=seeds,
        jobs=1,
        making=lambda name, share: None,
        done=lambda on, cell, result, share: seen.append(cell.name),
        failed=lambda cell, error: pytest.fail(str(error)),
    )


def test_an_experiment_stands_beside_the_paper_and_runs_no_cell_twice(tmp_path: Path, toy: list[int]) -> None:
    seen: list[str] = []
    (table,) = ran(tmp_path, seen)
    rows = {row["label"]: row for row in table["rows"]}
    assert list(rows) == ["Random Guess", "BM25", "Bi-LSTM-RNN"]
    assert rows["BM25"]["paper"] == {"P@1": 0.579, "MRR": 0.726}
    assert rows["BM25"]["ours"]["P@1"] == 1.0
    assert rows["Random Guess"]["spread"]["MRR"] > 0
    assert rows["Bi-LSTM-RNN"]["against"] is None
    for p in rows["BM25"]["against"].values():
        assert p["mean"] == pytest.approx(1 - rows["Bi-LSTM-RNN"]["ours"]["P@1"])
    assert len(rows["Bi-LSTM-RNN"]["curves"]) == 2
    assert rows["Bi-LSTM-RNN"]["curves"][0][0].keys() >= {"epoch", "loss", "metric"}

    cells = {file: file.stat().st_mtime_ns for file in (tmp_path / "cells").rglob("*.json")}
    assert len(cells) == len(seen) == 6
    assert ran(tmp_path, []) == [table]
    assert all(file.stat().st_mtime_ns == when for file, when in cells.items())
    assert toy == [1]

    # What does better on this data is another cell, and the table tells it.
    (table_better,) = ran(tmp_path, [], "bm25", better={"bm25": {"lr": 0.07}})
    assert table_better["rows"][1]["options"]["lr"] == 0.07
    options = [json.loads(file.read_text())["options"] for file in (tmp_path / "cells").rglob("bm25*.json")]
    assert [each.get("lr") == 0.07 for each in options].count(True) == 2

    text = write_report(tmp_path, "toy", "A toy table", [table], "small", "pairlight reproduce toy")
    assert "| BM25 | 0.579 | 1.000 ± 0.000 | +0.421 |" in text
    assert "| Bi-LSTM-RNN |  | auto | adagrad | 0.03 | 0.1 | skip-gram | True | 5 | 2 |" in text
    assert "the paper ran on Yahoo! Answers" in text
    assert "not results" in text
    assert json.loads((tmp_path / "toy-small.json").read_text())["tables"] == json.loads(json.dumps([table]))
    pictures = {file.name for file in tmp_path.glob("*.png")}
    assert pictures == {"toy-small-chitchat.png", "toy-small-chitchat-curves.png"}


def test_a_run_of_few_rows_or_of_other_data_loses_nothing_of_the_table(tmp_path: Path, toy: list[int]) -> None:
    assert ran(tmp_path, [], on=None) == []
    ran(tmp_path, [], "bm25")
    seen: list[str] = []
    (table,) = ran(tmp_path, seen, "random")
    assert [(row["label"], row["seeds"]) for row in table["rows"]] == [
        ("Random Guess", 2),
        ("BM25", 2),
        ("Bi-LSTM-RNN", 0),
    ]
    assert not any(row["against"] for row in table["rows"])
    text = write_report(tmp_path, "toy", "A toy table", [table], "small", "pairlight reproduce toy")
    assert "| Bi-LSTM-RNN | 0.702 |  |  | 0.830 |  |  | 0 |" in text
    assert "p against" not in text

    assert ran(tmp_path, seen, on=None) == [table]  # nothing is trained
    assert ran(tmp_path, seen, "random", seeds=1) == [table]  # nor is a finished seed forgotten
    assert {name.split("-")[0] for name in seen} == {"random", "bm25"}

    chitchat, squad = ran(tmp_path, [], "random", on="squad-sentences")
    assert chitchat == table
    assert [row["seeds"] for row in squad["rows"]] == [2, 0, 0]
    assert toy == [1, 1]


def test_every_row_is_trained_once_before_any_is_trained_again(tmp_path: Path, toy: list[int]) -> None:
    seen: list[str] = []
    ran(tmp_path, seen, "random,bm25")
    assert [name.rsplit("-", 1)[0] for name in seen] == ["random-1", "bm25-1", "random-2", "bm25-2"]


def test_data_that_is_not_there_is_told_before_anything_is_trained(tmp_path, toy, monkeypatch) -> None:
    def missing(limit, progress):
        raise InputError("put it there")

    monkeypatch.setitem(SOURCES, "squad-sentences", Source("toy", "Made up.", missing))
    seen: list[str] = []
    with pytest.raises(InputError, match="put it there"):
        ran(tmp_path, seen, "bm25", on="chitchat,squad-sentences")
    assert seen == []
    assert not (tmp_path / "cells").exists()


def test_other_data_of_the_same_name_shares_no_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = []

    def stub(parts, cells, folder, **_):
        folders.append(folder)
        return {}

    monkeypatch.setattr("pairlight.experiments.reproduce.compare", stub)
    for seed in (0, 1, 0):
        made = dict(zip(("train", "dev", "test"), split(overlap(20, seed=seed)), strict=True))
        monkeypatch.setitem(SOURCES, "chitchat", Source("toy", "Made up.", lambda limit, progress, made=made: made))
        ran(tmp_path / str(len(folders)), [], "bm25")
    assert folders[0].name == folders[2].name != folders[1].name


def test_built_data_reads_back_as_it_was(tmp_path: Path, toy: list[int]) -> None:
    data.build("chitchat", "small", tmp_path, lambda share: None)
    parts = parts_of("chitchat", "small", tmp_path)
    whole = split(overlap(40, seed=0))
    assert [len(part) for part in parts.values()] == [len(part) for part in whole]
    assert card_of("chitchat", "small", tmp_path)["parts"]["test"]["lists"] == whole[2].lists
    for read, made in zip(parts.values(), whole, strict=True):
        assert [read.texts[i] for i in read.right] == [made.texts[i] for i in made.right]
        np.testing.assert_array_equal(read.group, made.group)


def test_test_accuracy_is_measured_after_every_epoch() -> None:
    lists = overlap(60, seed=0, negatives_per_positive=1)
    assert lists.label is not None
    alone = Pairs.of([lists.texts[i] for i in lists.left], [lists.texts[i] for i in lists.right], lists.label)
    parts = dict(zip(("train", "dev", "test"), split(alone, (0.6, 0.2, 0.2)), strict=True))
    settings = {"interaction": "indicator", "dim": 4, "maps": 2, "mlp": 4}
    cell = Cell("match-pyramid", 1, settings, {"vectors": "none", "epochs": 3, "patience": 0, "lr": 0.1})
    found = every_epoch(cell, parts)
    assert [epoch["epoch"] for epoch in found["curve"]] == [1, 2, 3]
    best = max(found["curve"], key=lambda epoch: epoch["metric"])
    assert found["dev"]["accuracy"] == best["metric"]
    assert found["test"]["accuracy"] == best["test"]
    assert np.mean(found["per_list"]["accuracy"]) == pytest.approx(found["test"]["accuracy"])


def test_rows_and_data_that_are_not_there_are_named() -> None:
    with pytest.raises(InputError, match=r"no row is named 'magic'\. The rows are: Random Guess, BM25"):
        chosen_rows(EXPERIMENTS["mv-lstm-qa"], "bm25,magic")
    with pytest.raises(InputError, match=r"no 'moon' here\. The data are: chitchat, squad-sentences"):
        chosen_data(EXPERIMENTS["mv-lstm-qa"], "moon")
    assert [row.label for row in chosen_rows(EXPERIMENTS["mv-lstm-qa"], "mv-lstm-tensor, BM25")] == [
        "BM25",
        "MV-LSTM-Tensor",
    ]


def test_small_scale_takes_whole_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"train": overlap(20, 0), "dev": overlap(8, 1), "test": overlap(8, 2)}
    monkeypatch.setattr(data, "load", lambda name: parts)
    few = SOURCES["wikiqa"].make(24, lambda share: None)
    assert [(part.lists, len(part)) for part in few.values()] == [(8, 32), (2, 8), (2, 8)]


def test_data_from_files_says_where_they_belong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PAIRLIGHT_DATA", raising=False)
    with pytest.raises(InputError, match=r"set PAIRLIGHT_DATA to the folder that holds reuters/articles\.txt"):
        SOURCES["reuters"].make(None, lambda share: None)
    monkeypatch.setenv("PAIRLIGHT_DATA", str(tmp_path))
    with pytest.raises(InputError, match="put it there, or choose other data with --data"):
        SOURCES["citations"].make(None, lambda share: None)


def test_bars_show_the_spread_over_seeds_and_leave_out_what_has_no_figure(tmp_path: Path) -> None:
    def drawn(name: str, spread: float) -> bytes:
        none = {"label": "not run", "paper": {"P@1": None}, "ours": {"P@1": None}, "spread": {"P@1": None}}
        row = {"label": "BM25", "paper": {"P@1": 0.5}, "ours": {"P@1": 0.4}, "spread": {"P@1": spread}}
        draw_bars(tmp_path / name, [none, row], "P@1")
        return (tmp_path / name).read_bytes()

    assert drawn("a.png", 0.0) == drawn("b.png", 0.0)
    assert drawn("c.png", 0.05) != drawn("a.png", 0.0)


def test_a_threshold_that_calls_none_a_match_is_kept_list_by_list():
    test, scores = Pairs.of(["a"] * 4, ["b"] * 4, [0, 0, 0, 1]), np.full(4, 0.3, np.float32)
    result = evaluate_scores(test, scores, kind="pairs", threshold=best_threshold(scores, test.labels))
    assert per_list(test, scores, result) == {"accuracy": [1, 1, 1, 0]}
    assert result.metrics["accuracy"] == 0.75


def test_what_is_measured_after_every_epoch_is_told_with_the_loss_it_has(tmp_path, monkeypatch):
    labelled = overlap(20, seed=0)
    apart = Pairs.of(
        [f"{n} {labelled.texts[i]}" for n, i in enumerate(labelled.left)],
        [labelled.texts[i] for i in labelled.right],
        labelled.label,
    )
    parts = dict(zip(("train", "dev", "test"), split(apart), strict=True))
    monkeypatch.setitem(SOURCES, "quora", Source("toy", "Made up.", lambda limit, progress: parts))
    experiment = EXPERIMENTS["amv-lstm-quora"]
    (table,) = run(
        experiment,
        [next(row for row in experiment.rows if row.model == "dssm")],
        chosen_data(experiment, "quora"),
        tmp_path,
        scale="small",
        seeds=1,
        jobs=1,
        making=lambda *_: None,
        done=lambda *_: None,
        failed=lambda cell, error: pytest.fail(str(error)),
    )
    told = next(row for row in table["rows"] if row["model"] == "dssm")
    assert (told["options"]["loss"], told["options"]["metric"]) == ("bce", "accuracy")
