"""The tables of the papers: every row can be built, and an experiment runs, resumes and is reported."""

import gzip
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.data.splits import split, train_dev_test
from pairlight.datasets.paper_files import rcv1_texts, yahoo_answers
from pairlight.evaluation.classification import best_threshold
from pairlight.evaluation.evaluate import evaluate_scores
from pairlight.experiments import curves, runs, sources
from pairlight.experiments import reproduce as experiment
from pairlight.experiments.cases import CASES
from pairlight.experiments.executor import Executor, SerialExecutor
from pairlight.experiments.figures import draw_bars
from pairlight.experiments.papers import PAPER_TABLES, PaperRow, PaperTable, experiment_titles
from pairlight.experiments.published import published_row
from pairlight.experiments.records import Values, read_record
from pairlight.experiments.report import PaperReport, ReportRow, ReportTable, write_report
from pairlight.experiments.reproduce import Reproduction, reproduce, run_table, select_datasets, select_rows
from pairlight.experiments.runner import RunLog
from pairlight.experiments.runs import evaluate_every_epoch, evaluate_lists, per_list
from pairlight.experiments.sources import SOURCES, ExperimentSource, make_source, read_source, source_card
from pairlight.experiments.spec import EpochResult, Epochs, RunSpec
from pairlight.models import build
from pairlight.models.base import PAPER_TRAINING
from pairlight.training.config import TrainingConfig
from toy_pairs import overlap

COUNTS = {
    "mv-lstm-k": 6,
    "mv-lstm-k-all": 8,
    "mv-lstm-qa": 12,
    "mv-lstm-sc": 14,  # two are not in the paper
    "match-srnn": 11,
    "match-srnn-d": 5,
    "tutorial-qa": 12,
    "amv-lstm-wikiqa": 11,  # one is not in the paper
    "amv-lstm-splits": 10,
    "amv-lstm-quora": 10,
    "mv-lstm-departures": 13,
    "amv-lstm-departures": 7,
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_table_has_all_rows_and_every_row_can_be_built(name: str) -> None:
    table = PAPER_TABLES[name]
    assert len({row.label for row in table.rows}) == COUNTS[name]
    for row in table.rows:
        build(row.model, 20, **row.settings)
        TrainingConfig.of({}, row.options)
    for each in table.datasets:
        assert each.dataset in SOURCES
        assert each.baseline in {row.label for row in table.rows}


def test_every_experiment_has_a_title() -> None:
    assert set(experiment_titles()) == {*COUNTS, *CASES, "match-srnn-lcs"}
    assert all(experiment_titles().values())


def test_the_baseline_is_the_best_row_of_the_paper_that_is_not_its_own_model() -> None:
    own = ("MV-LSTM (", "MV-LSTM-", "Match-SRNN", "Bi-Match", "aMV-LSTM")
    for table in PAPER_TABLES.values():
        for each in table.datasets:
            results = {
                row.label: row.results[each.metrics[0]]
                for row in table.rows
                if row.results and not row.label.startswith(own)
            }
            if results:
                assert each.baseline == max(results, key=results.__getitem__)


def test_options_for_one_dataset_are_used_only_there() -> None:
    table = PAPER_TABLES["mv-lstm-qa"]
    chitchat, squad, _ = table.datasets
    for row in table.rows:
        assert chitchat.on(row) == row
        assert (squad.on(row) == row) == (row.model != "lstm-rnn")
    (row,) = select_rows(table, "lstm-rnn")
    assert (row.options["lr"], squad.on(row).options) == (0.1, {"freeze": True, "lr": 0.03, "margin": 0.2})


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Toy lists in place of two datasets; counts how often they are made."""
    made: list[int] = []

    def make(limit, progress):
        made.append(1)
        progress(1.0)
        return train_dev_test(overlap(40, seed=0))

    for name in ("chitchat", "squad-sentences"):
        monkeypatch.setitem(SOURCES, name, ExperimentSource("toy lists", "Made up.", make))
    return made


class Counting(SerialExecutor):
    """Records the names of runs."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def submit(self, specs, work, splits):
        self.names += [spec.name for spec in specs]
        return super().submit(specs, work, splits)


def ran(
    out: Path,
    models: str | None = None,
    data: str | None = "chitchat",
    options: dict[str, Values] | None = None,
    seeds: int = 2,
    executor: Executor | None = None,
) -> list[ReportTable]:
    """The table of three rows, of which `models` are run on `data`; None for data runs nothing."""
    rows = *PAPER_TABLES["mv-lstm-qa"].rows[:2], PAPER_TABLES["mv-lstm-k"].rows[1]
    datasets = tuple(replace(each, options=options or {}) for each in PAPER_TABLES["mv-lstm-k"].datasets)
    table = PaperTable("A toy table", rows, datasets)
    log = RunLog(ProgressReporter())
    found = run_table(
        table,
        select_rows(table, models),
        [] if data is None else select_datasets(table, data),
        out,
        scale="small",
        seeds=seeds,
        executor=executor or SerialExecutor(),
        reporter=ProgressReporter(),
        log=log,
    )
    assert not log.failures
    return found


def reported(out: Path, table: ReportTable) -> str:
    return write_report(out, PaperReport("toy", "A toy table", "small", "pairlight reproduce toy", (table,)))


def test_our_results_are_next_to_those_of_the_paper_and_no_run_is_repeated(tmp_path: Path, toy: list[int]) -> None:
    executor = Counting()
    (table,) = ran(tmp_path, executor=executor)
    rows = {row.label: row for row in table.rows}
    assert list(rows) == ["Random Guess", "BM25", "Bi-LSTM-RNN"]
    assert rows["BM25"].paper == {"P@1": 0.579, "MRR": 0.726}
    assert rows["BM25"].ours["P@1"] == 1.0
    assert rows["Random Guess"].std["MRR"] > 0
    assert rows["Bi-LSTM-RNN"].significance is None
    tests = rows["BM25"].significance
    for found in (tests.t_test, tests.bootstrap):
        assert found.mean == pytest.approx(1 - rows["Bi-LSTM-RNN"].ours["P@1"])
    assert len(rows["Bi-LSTM-RNN"].epochs) == 2
    assert rows["Bi-LSTM-RNN"].epochs[0][0].metric is not None

    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").rglob("*.json")}
    assert len(times) == len(executor.names) == 6
    assert ran(tmp_path) == [table]
    assert all(file.stat().st_mtime_ns == time for file, time in times.items())
    assert toy == [1]

    # Other options on this dataset are another run, and the table shows them.
    (other,) = ran(tmp_path, "bm25", options={"bm25": {"lr": 0.07}})
    assert other.rows[1].options["lr"] == 0.07
    stored = [json.loads(file.read_text())["result"] for file in (tmp_path / "runs").rglob("bm25*.json")]
    assert [each["options"].get("lr") == 0.07 for each in stored].count(True) == 2

    text = reported(tmp_path, table)
    assert "| BM25 | 0.579 | 1.000 ± 0.000 | +0.421 |" in text
    assert "| Bi-LSTM-RNN |  | auto | adagrad | 0.1 | 0.1 | skip-gram | True | 5 | 2 |" in text
    assert "Data in the paper: Yahoo! Answers" in text
    assert "do not cite it" in text
    assert read_record(tmp_path / "toy-small.json", PaperReport, "run it again").tables == (table,)
    figures = {file.name for file in tmp_path.glob("*.png")}
    assert figures == {"toy-small-chitchat.png", "toy-small-chitchat-curves.png"}


def test_a_run_of_some_rows_or_datasets_loses_nothing_of_the_table(tmp_path: Path, toy: list[int]) -> None:
    assert ran(tmp_path, data=None) == []
    ran(tmp_path, "bm25")
    (table,) = ran(tmp_path, "random")
    assert [(row.label, row.seeds) for row in table.rows] == [("Random Guess", 2), ("BM25", 2), ("Bi-LSTM-RNN", 0)]
    assert not any(row.significance for row in table.rows)
    text = reported(tmp_path, table)
    assert "| Bi-LSTM-RNN | 0.702 |  |  | 0.830 |  |  | 0 |" in text
    assert "p-values are for the difference" not in text

    executor = Counting()
    assert ran(tmp_path, data=None, executor=executor) == [table]
    assert ran(tmp_path, "random", seeds=1, executor=executor) == [table]  # a finished seed is not forgotten
    assert executor.names == []

    chitchat, squad = ran(tmp_path, "random", data="squad-sentences")
    assert chitchat == table
    assert [row.seeds for row in squad.rows] == [2, 0, 0]
    assert toy == [1, 1]


def test_a_single_seed_has_no_standard_deviation(tmp_path: Path, toy: list[int]) -> None:
    (table,) = ran(tmp_path, "bm25", seeds=1)
    assert "| BM25 | 0.579 | 1.000 | +0.421 |" in reported(tmp_path, table)


def test_every_seed_of_a_table_of_splits_has_other_test_lists(tmp_path: Path, monkeypatch) -> None:
    splits = train_dev_test(overlap(40, seed=0))
    monkeypatch.setitem(SOURCES, "wikiqa-random", ExperimentSource("toy", "Made up.", lambda limit, progress: splits))
    tests: list[set[str]] = []

    def seen(spec, splits):
        tests.append({splits["test"].texts[i] for i in splits["test"].left})
        return evaluate_lists(replace(spec, options={"vectors": "none", "epochs": 1}), splits)

    monkeypatch.setattr(runs, "evaluate_lists", seen)
    found = small("amv-lstm-splits", tmp_path, models="MV-LSTM", seeds=2)
    row = next(row for row in found.report.tables[0].rows if row.seeds)
    assert (row.label, row.seeds, row.significance) == ("MV-LSTM", 2, None)
    assert len(tests) == 2
    assert tests[0] != tests[1]
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.endswith("-splits")  # apart from runs on one split


def test_every_row_is_run_once_before_any_is_run_again(tmp_path: Path, toy: list[int]) -> None:
    executor = Counting()
    ran(tmp_path, "random,bm25", executor=executor)
    assert [name.rsplit("-", 1)[0] for name in executor.names] == ["random-1", "bm25-1", "random-2", "bm25-2"]


def test_missing_data_is_reported_before_anything_is_run(tmp_path: Path, toy: list[int], monkeypatch) -> None:
    def missing(limit, progress):
        raise InputError("put the file there")

    monkeypatch.setitem(SOURCES, "squad-sentences", ExperimentSource("toy", "Made up.", missing))
    executor = Counting()
    with pytest.raises(InputError, match="put the file there"):
        ran(tmp_path, "bm25", data="chitchat,squad-sentences", executor=executor)
    assert executor.names == []
    assert not (tmp_path / "runs").exists()


def test_other_data_of_the_same_name_shares_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = []

    def stub(specs, work, splits, store, executor, **_):
        folders.append(store.folder)
        return {}

    monkeypatch.setattr(experiment, "run_all", stub)
    for seed in (0, 1, 0):
        made = train_dev_test(overlap(20, seed=seed))
        source = ExperimentSource("toy", "Made up.", lambda limit, progress, made=made: made)
        monkeypatch.setitem(SOURCES, "chitchat", source)
        ran(tmp_path / str(len(folders)), "bm25")
    assert folders[0].name == folders[2].name != folders[1].name


def test_a_dataset_that_was_made_reads_back_unchanged(tmp_path: Path, toy: list[int]) -> None:
    make_source("chitchat", "small", tmp_path, lambda share: None)
    splits = read_source("chitchat", "small", tmp_path)
    whole = split(overlap(40, seed=0))
    assert [len(pairs) for pairs in splits.values()] == [len(pairs) for pairs in whole]
    card = source_card("chitchat", "small", tmp_path)
    assert card is not None
    assert card.splits["test"].lists == whole[2].lists
    for read, made in zip(splits.values(), whole, strict=True):
        assert [read.texts[i] for i in read.right] == [made.texts[i] for i in made.right]
        np.testing.assert_array_equal(read.group, made.group)


def independent_pairs(lists: int, negatives_per_positive: int = 3) -> Pairs:
    """Pairs whose left texts are all different."""
    pairs = overlap(lists, seed=0, negatives_per_positive=negatives_per_positive)
    left = [f"{number} {pairs.texts[i]}" for number, i in enumerate(pairs.left)]
    return Pairs.of(left, [pairs.texts[i] for i in pairs.right], pairs.labels)


def test_test_accuracy_is_measured_after_every_epoch() -> None:
    lists = overlap(60, seed=0, negatives_per_positive=1)
    pairs = Pairs.of([lists.texts[i] for i in lists.left], [lists.texts[i] for i in lists.right], lists.labels)
    splits = dict(zip(("train", "dev", "test"), split(pairs, (0.6, 0.2, 0.2)), strict=True))
    options = {"vectors": "none", "epochs": 3, "patience": 0, "lr": 0.03, "epsilon": 1e-10}
    found = evaluate_every_epoch(RunSpec("mv-lstm", 1, {"dim": 4, "hidden": 4, "evidence": False}, options), splits)
    assert [epoch.epoch for epoch in found.epochs] == [1, 2, 3]
    assert len({epoch.test for epoch in found.epochs}) > 1
    best = max(found.epochs, key=lambda epoch: epoch.metric)
    assert found.dev["accuracy"] == best.metric
    assert found.test["accuracy"] == best.test
    assert np.mean(found.per_list["accuracy"]) == pytest.approx(found.test["accuracy"])


@pytest.mark.parametrize("evidence", [False, True])
def test_the_test_accuracy_of_an_epoch_is_measured_with_its_dev_accuracy(evidence: bool) -> None:
    lists = overlap(40, seed=0, negatives_per_positive=1)
    labels = np.random.default_rng(0).permutation(lists.labels)  # nothing can be learned, so accuracy goes up and down
    pairs = Pairs.of([lists.texts[i] for i in lists.left], [lists.texts[i] for i in lists.right], labels)
    train, dev = split(pairs, (0.5, 0.5))
    options = {"vectors": "none", "epochs": 4, "patience": 0, "lr": 1.0, "optimizer": "adam", "freeze": False}
    settings = {"dim": 4, "hidden": 4, "evidence": evidence}
    found = evaluate_every_epoch(RunSpec("mv-lstm", 1, settings, options), {"train": train, "dev": dev, "test": dev})
    assert [epoch.test for epoch in found.epochs] == [epoch.metric for epoch in found.epochs]
    assert len({epoch.metric for epoch in found.epochs}) > 1


def test_rows_are_run_in_the_form_of_the_paper_and_reported_with_its_options(tmp_path: Path, toy: list[int]) -> None:
    class Specs(SerialExecutor):
        def submit(self, specs, work, splits):
            made.extend(specs)
            return super().submit(specs, work, splits)

    made: list[RunSpec] = []
    (table,) = ran(tmp_path, "bm25,bi-lstm-rnn", seeds=1, executor=Specs())
    assert [(spec.model, spec.settings) for spec in made] == [("bm25", {}), ("bi-lstm-rnn", {"evidence": False})]
    row = table.rows[2]
    assert row.settings == {}
    own = {"loss": "auto", "freeze": True, "lr": 0.1, "epochs": 5, "patience": 2}  # of this row and scale
    assert {name: row.options[name] for name in PAPER_TRAINING} == {**PAPER_TRAINING, **own}


def test_runs_measured_after_every_epoch_are_reported_with_the_loss_they_use(tmp_path: Path, monkeypatch) -> None:
    splits = train_dev_test(independent_pairs(20))
    monkeypatch.setitem(SOURCES, "quora", ExperimentSource("toy", "Made up.", lambda limit, progress: splits))
    found = reproduce(
        "amv-lstm-quora", tmp_path, models="dssm", command="pairlight reproduce", executor=SerialExecutor()
    )
    assert isinstance(found.report, PaperReport)
    row = next(row for row in found.report.tables[0].rows if row.model == "dssm")
    assert (row.options["loss"], row.options["metric"]) == ("bce", "accuracy")
    assert row.epochs[0][0].test is not None


def test_labeled_pairs_are_trained_with_cross_entropy(tmp_path: Path, monkeypatch) -> None:
    splits = train_dev_test(independent_pairs(20))
    monkeypatch.setitem(SOURCES, "citations", ExperimentSource("toy", "Made up.", lambda limit, progress: splits))
    for as_published in (False, True):
        found = small("match-srnn", tmp_path, models="lstm-rnn", data="citations", as_published=as_published)
        assert not found.failures
        row = next(row for row in found.report.tables[0].rows if row.seeds)
        assert row.options["loss"] == "bce"
        assert row.ours["accuracy"] is not None


def test_unknown_rows_and_datasets_are_named() -> None:
    table = PAPER_TABLES["mv-lstm-qa"]
    with pytest.raises(InputError, match=r"No row named 'magic'.*Random Guess, BM25") as error:
        select_rows(table, "bm25,magic")
    assert error.value.option == "models"
    with pytest.raises(InputError, match=r"No dataset named 'moon'.*chitchat, squad-sentences, yahoo") as error:
        select_datasets(table, "moon")
    assert error.value.option == "data"
    assert [row.label for row in select_rows(table, "mv-lstm-tensor, BM25")] == ["BM25", "MV-LSTM-Tensor"]


def small(name: str, out: Path, **given) -> Reproduction:
    return reproduce(name, out, command=f"pairlight reproduce {name}", executor=SerialExecutor(), **given)


@pytest.mark.parametrize(
    ("name", "given", "message", "option"),
    [
        ("mv-lstm-qq", {}, "Did you mean 'mv-lstm-qa'", None),
        ("mv-lstm-qa", {"scale": "huge"}, "scale='huge' is not one of small, full", "scale"),
        ("mv-lstm-qa", {"models": "magic"}, "magic", "models"),
        ("mv-lstm-qa", {"data": "moon"}, "moon", "data"),
        ("match-srnn-lcs", {"models": "bm25"}, "has its own models and data", "models"),
        ("mv-lstm-qa", {"finished": True, "data": "chitchat"}, "leave models and data out", "finished"),
        ("mv-lstm-qa", {"finished": True}, "No run of mv-lstm-qa at scale small is finished in", "finished"),
    ],
)
def test_what_does_not_exist_is_one_clear_line_and_nothing_is_written(
    tmp_path: Path, name: str, given: dict, message: str, option: str | None
) -> None:
    with pytest.raises(InputError, match=message) as error:
        small(name, tmp_path, **given)
    assert error.value.option == option
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["mv-lstm-qa", "match-srnn-lcs"])
def test_a_missing_matplotlib_is_reported_before_anything_is_run(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(curves, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="Figures need matplotlib"):
        small(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_learning_curves_show_test_results_and_single_epochs(tmp_path: Path) -> None:
    def drawn(name: str, epochs: Epochs) -> bytes:
        curves.draw_curves(tmp_path / name, {"not trained": [()], "BM25": [epochs]}, "MAP")
        return (tmp_path / name).read_bytes()

    one = EpochResult(1, 0.9, 0.5, 0.1)
    pngs = {
        drawn("one.png", (one,)),
        drawn("two.png", (one, replace(one, epoch=2))),
        drawn("test.png", (replace(one, test=0.4),)),
        drawn("gap.png", (one, replace(one, epoch=2, metric=None))),
    }
    assert len(pngs) == 4
    curves.draw_curves(tmp_path / "none.png", {"not trained": [()]}, "MAP")
    assert not (tmp_path / "none.png").exists()


def test_an_experiment_is_reproduced_and_reported_again_without_running(tmp_path: Path, toy: list[int]) -> None:
    found = small("mv-lstm-qa", tmp_path, models="bm25,random", data="chitchat")
    assert found.path == tmp_path / "mv-lstm-qa-small"
    assert found.markdown == found.path.with_name("mv-lstm-qa-small.md").read_text("utf-8")
    assert "| BM25 | 0.579 | 1.000 |" in found.markdown
    again = small("mv-lstm-qa", tmp_path, finished=True)
    assert again.report == found.report
    assert not again.failures


def test_a_failed_run_is_named_and_the_table_is_reported_without_it(tmp_path: Path, toy, monkeypatch) -> None:
    def failing(spec, splits):
        if spec.model == "bm25":
            raise InputError("The loss became nan.")
        return original(spec, splits)

    original = experiment.evaluate_lists
    monkeypatch.setattr(experiment, "evaluate_lists", failing)
    found = small("mv-lstm-qa", tmp_path, models="bm25,random", data="chitchat")
    assert [failed.spec.model for failed in found.failures] == ["bm25"]
    assert [row.label for row in found.report.tables[0].rows if row.seeds] == ["Random Guess"]


def test_small_scale_takes_whole_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {"train": overlap(20, 0), "dev": overlap(8, 1), "test": overlap(8, 2)}
    monkeypatch.setattr(sources, "load_dataset", lambda name: splits)
    sample = SOURCES["wikiqa"].make(24, lambda share: None)
    assert [(pairs.lists, len(pairs)) for pairs in sample.values()] == [(8, 32), (2, 8), (2, 8)]


def test_all_questions_of_wikiqa_are_split_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = {"train": overlap(20, 0), "dev": overlap(8, 1), "test": overlap(12, 2)}
    monkeypatch.setattr(sources, "load_dataset", lambda name: splits)
    found = SOURCES["wikiqa-random"].make(None, lambda share: None)
    assert [pairs.lists for pairs in found.values()] == [32, 4, 4]


def test_data_from_files_says_where_they_belong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PAIRLIGHT_DATA", raising=False)
    with pytest.raises(InputError, match=r"set PAIRLIGHT_DATA to the folder that contains reuters/articles\.txt"):
        SOURCES["reuters"].make(None, lambda share: None)
    monkeypatch.setenv("PAIRLIGHT_DATA", str(tmp_path))
    with pytest.raises(InputError, match="put the file there, or choose other datasets"):
        SOURCES["citations"].make(None, lambda share: None)


def test_bars_show_the_standard_deviation_and_leave_out_missing_results(tmp_path: Path) -> None:
    def drawn(name: str, std: float) -> bytes:
        missing = ReportRow("not run", "a", {}, {}, 0, {"P@1": None}, {"P@1": None}, {"P@1": None}, (), ())
        row = ReportRow("BM25", "bm25", {}, {}, 2, {"P@1": 0.5}, {"P@1": 0.4}, {"P@1": std}, (), ())
        draw_bars(tmp_path / name, [missing, row], "P@1")
        return (tmp_path / name).read_bytes()

    assert drawn("a.png", 0.0) == drawn("b.png", 0.0)
    assert drawn("c.png", 0.05) != drawn("a.png", 0.0)


def test_a_threshold_above_all_scores_is_used_for_every_pair() -> None:
    test, scores = Pairs.of(["a"] * 4, ["b"] * 4, [0, 0, 0, 1]), np.full(4, 0.3, np.float32)
    result = evaluate_scores(test, scores, task="pairs", threshold=best_threshold(scores, test.labels))
    assert per_list(test, scores, result) == {"accuracy": [1, 1, 1, 0]}
    assert result.metrics["accuracy"] == 0.75


def test_a_row_as_published_differs_from_ours_and_is_another_run() -> None:
    for name, table in PAPER_TABLES.items():
        for ours in () if table.one_form else table.rows:
            paper = published_row(name, ours)
            specs = [experiment.plan_row(row, "full", 1) for row in (ours, paper)]
            assert (specs[0].name != specs[1].name) == bool(ours.options)
            build(paper.model, 20, **paper.settings)
            TrainingConfig.of({}, paper.options)


def test_a_row_as_published_is_trained_as_the_paper_says() -> None:
    def rows(name: str) -> dict[str, PaperRow]:
        return {row.label: published_row(name, row) for row in PAPER_TABLES[name].rows}

    wikiqa = rows("amv-lstm-wikiqa")
    setups = {label: dict(row.options) for label, row in wikiqa.items() if label != "K-NRM"}
    assert all(options == setups["ANMM"] for options in setups.values())
    assert (setups["ANMM"]["loss"], setups["ANMM"]["epochs"], setups["ANMM"]["patience"]) == ("hinge", 400, 0)
    assert all(row.last_epoch for row in wikiqa.values())
    assert wikiqa["aMV-LSTM (Q)"].settings == {"rescale": False, "gate": "left", "mlp": 0}
    assert wikiqa["K-NRM"].options["freeze"] is False
    assert rows("amv-lstm-quora")["ANMM"].options["epochs"] == 500
    assert rows("mv-lstm-qa")["MV-LSTM-Bilinear"].options == {"freeze": False, "lr": 0.03, "epsilon": 0.1}
    assert rows("mv-lstm-sc")["MV-LSTM-Tensor"].options["lr"] == 0.3
    assert rows("mv-lstm-sc")["MV-LSTM-Tensor"].settings == {"interaction": "tensor", "k": 5}
    assert "margin" not in rows("mv-lstm-k")["Bi-LSTM-RNN"].options
    assert rows("match-srnn")["Match-SRNN"].options["freeze"] is False


def test_the_model_at_the_end_of_training_is_evaluated() -> None:
    splits = train_dev_test(overlap(60, seed=0))
    options = {"vectors": "none", "epochs": 3, "patience": 0, "lr": 0.5, "freeze": False}
    settings = {"dim": 4, "hidden": 4, "evidence": False, "mlp": 0}
    best = RunSpec("mv-lstm", 1, settings, options)
    last = replace(best, last_epoch=True)
    assert best.name != last.name
    found = evaluate_lists(last, splits)
    assert [epoch.epoch for epoch in found.epochs] == [1, 2, 3]
    assert len({epoch.metric for epoch in found.epochs}) > 1
    assert (found.dev["MAP"], found.test["MAP"]) == (found.epochs[-1].metric, found.epochs[-1].test)
    assert np.mean(found.per_list["MAP"]) == pytest.approx(found.test["MAP"], abs=1e-5)


def test_test_accuracy_is_that_of_the_last_epoch_where_the_specification_says_so() -> None:
    splits = train_dev_test(independent_pairs(40))
    options = {"vectors": "none", "epochs": 4, "patience": 0, "lr": 0.3, "freeze": False}
    settings = {"dim": 4, "hidden": 4, "evidence": False}
    found = evaluate_every_epoch(RunSpec("mv-lstm", 1, settings, options, last_epoch=True), splits)
    assert found.dev["accuracy"] == found.epochs[-1].metric
    assert found.test["accuracy"] == found.epochs[-1].test


def test_the_report_has_both_forms_and_says_under_each_table_what_they_are(tmp_path: Path, toy: list[int]) -> None:
    given = {"models": "bi-lstm-rnn,bm25", "data": "chitchat"}
    ours = small("mv-lstm-k", tmp_path, **{**given, "models": "bi-lstm-rnn"})
    assert "Ours: word vectors are not trained" in ours.markdown
    assert "As published:" not in ours.markdown
    both = small("mv-lstm-k", tmp_path, **{**given, "models": "bi-lstm-rnn"}, as_published=True)
    assert both.path.name == "mv-lstm-k-as-published-small"
    assert "| model | P@1, paper | P@1, here |" in both.markdown
    assert "| model | P@1, paper | P@1, ours |" in ours.markdown
    assert "As published: word vectors are trained" in both.markdown
    rows = {row.label: row for row in both.report.tables[0].rows}
    assert {label for label, row in rows.items() if row.seeds} == {"Bi-LSTM-RNN, as published", "Bi-LSTM-RNN, ours"}
    assert rows["Bi-LSTM-RNN, as published"].options["freeze"] is False
    assert rows["Bi-LSTM-RNN, ours"].options["freeze"] is True
    assert rows["Bi-LSTM-RNN, ours"].ours == next(r for r in ours.report.tables[0].rows if r.seeds).ours
    again = small("mv-lstm-k", tmp_path, finished=True, as_published=True)
    assert again.report.tables == both.report.tables


def test_an_experiment_with_one_form_cannot_be_run_as_published(tmp_path: Path) -> None:
    for name in ("match-srnn-lcs", "amv-lstm-departures"):
        with pytest.raises(InputError, match="one form only") as error:
            small(name, tmp_path, as_published=True)
        assert error.value.option == "as_published"


@pytest.mark.parametrize("name", ["mv-lstm-departures", "amv-lstm-departures"])
def test_every_row_of_a_table_of_departures_is_another_run(name: str) -> None:
    rows = PAPER_TABLES[name].rows
    assert len({experiment.plan_row(row, "full", 1).name for row in rows}) == len(rows)
    assert len({(str(sorted(row.settings.items())), str(sorted(row.options.items()))) for row in rows}) == len(rows)


def test_data_that_few_have_is_run_only_on_request() -> None:
    table = PAPER_TABLES["mv-lstm-qa"]
    assert [each.dataset for each in select_datasets(table, None)] == ["chitchat", "squad-sentences"]
    assert [each.dataset for each in select_datasets(table, "yahoo")] == ["yahoo"]


YAHOO = """<?xml version="1.0" encoding="UTF-8"?><ystfeed>
<vespaadd><document type="wisdom"><uri>{uri}</uri><subject>how do I clean the red car number {uri}?</subject>
<content>more</content><bestanswer>use warm water &amp;amp; soap &lt;br /&gt; on the red car number {uri}.</bestanswer>
<nbestanswers><answer_item>other</answer_item></nbestanswers></document></vespaadd>"""


def write_yahoo(folder: Path, questions: int = 60) -> None:
    """As in L6: one document, cut in two files anywhere, the second of them gzipped."""
    start, *rest = [YAHOO.format(uri=uri) for uri in range(questions)]
    whole = "".join([start, *(each.partition("<ystfeed>")[2] for each in rest), "</ystfeed>"]).encode()
    folder.mkdir(parents=True)
    (folder / "FullOct2007.xml.part1").write_bytes(whole[: len(whole) // 2 + 3])
    (folder / "FullOct2007.xml.part2.gz").write_bytes(gzip.compress(whole[len(whole) // 2 + 3 :]))


def write_rcv1(folder: Path, items: int = 80) -> None:
    """As in RCV1: one zip file a day, with an XML file in Latin-1 for each item."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "19960820.zip", "w") as archive:
        for number in range(items):
            first = f"The bank of city {number} said on Tuesday that its profit had risen,"
            second = f"while the caf\xe9 chain number {number} closed its shops in the same quarter."
            text = f"<text>\n<p>{first} {second}</p>\n<p>Short end.</p>\n</text>"
            head = '<?xml version="1.0" encoding="iso-8859-1" ?>\n'
            item = f'{head}<newsitem itemid="{number}"><title>A title</title>{text}<metadata/></newsitem>'
            archive.writestr(f"{number}newsML.xml", item.encode("latin-1"))


def write_quora(file: Path, pairs: int = 50) -> None:
    file.parent.mkdir(parents=True)
    head = '"id"\t"qid1"\t"qid2"\t"question1"\t"question2"\t"is_duplicate"\n'
    rows = [
        f'"{n}"\t"{2 * n}"\t"{2 * n + 1}"\t"What is\n{n % 7}?"\t"Who is {n}?"\t"{n % 3 == 0:d}"\n' for n in range(pairs)
    ]
    file.write_text(head + "".join(rows))


def test_the_files_of_the_papers_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRLIGHT_DATA", str(tmp_path))
    write_yahoo(tmp_path / "yahoo")
    write_rcv1(tmp_path / "rcv1")
    write_quora(tmp_path / "quora" / "quora_duplicate_questions.tsv")

    yahoo = SOURCES["yahoo"].make(None, lambda done: None)
    assert sum(pairs.lists for pairs in yahoo.values()) == 60
    text = next(text for text in yahoo["train"].texts if text.startswith("use"))
    assert re.fullmatch(r"use warm water & soap on the red car number \d+\.", text)

    rcv1 = SOURCES["rcv1"].make(None, lambda done: None)
    assert sum(pairs.lists for pairs in rcv1.values()) == 80
    assert any("café chain" in text for text in rcv1["train"].texts)
    assert not any("title" in text for text in rcv1["train"].texts)

    quora = SOURCES["quora-full"].make(None, lambda done: None)
    assert [len(pairs) for pairs in quora.values()] == [40, 5, 5]
    assert sum(int(pairs.labels.sum()) for pairs in quora.values()) == 17
    assert all(pairs.lists == len(pairs) for pairs in quora.values())
    again = SOURCES["quora-full"].make(None, lambda done: None)
    assert [again["test"].texts[i] for i in again["test"].right] == [
        quora["test"].texts[i] for i in quora["test"].right
    ]


@pytest.mark.parametrize(
    ("name", "words"), [("yahoo", r"\*\.xml\*"), ("rcv1", "put the files there"), ("quora-full", "quora_dup")]
)
def test_missing_files_of_the_papers_are_named(name: str, words: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PAIRLIGHT_DATA", str(tmp_path))
    with pytest.raises(InputError, match=words):
        SOURCES[name].make(None, lambda done: None)
    monkeypatch.delenv("PAIRLIGHT_DATA")
    with pytest.raises(InputError, match="PAIRLIGHT_DATA"):
        SOURCES[name].make(None, lambda done: None)


def test_a_damaged_file_of_the_papers_is_named(tmp_path: Path) -> None:
    file = tmp_path / "manner.xml"
    file.write_text("<ystfeed><document></ystfeed>")
    with pytest.raises(InputError, match=r"manner\.xml is not XML"):
        list(yahoo_answers([file]))
    (tmp_path / "1newsML.xml").write_text("<newsitem>")
    with pytest.raises(InputError, match=r"1newsML\.xml is not a news item"):
        list(rcv1_texts(tmp_path))


def test_a_table_runs_on_the_files_of_the_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRLIGHT_DATA", str(tmp_path / "data"))
    write_yahoo(tmp_path / "data" / "yahoo")
    found = small("mv-lstm-qa", tmp_path / "out", models="bm25", data="yahoo")
    (table,) = found.report.tables
    assert next(row for row in table.rows if row.model == "bm25").ours["P@1"] is not None


def test_other_vectors_replace_those_of_50_dimensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = train_dev_test(overlap(20, seed=0))
    monkeypatch.setitem(SOURCES, "wikiqa", ExperimentSource("toy", "Made up.", lambda limit, progress: splits))
    words = sorted({word for pairs in splits.values() for text in pairs.texts for word in text.split()})
    file = tmp_path / "glove.840B.300d.txt"
    file.write_text(
        "".join(f"{word} {' '.join(str(n + place / 7) for place in range(300))}\n" for n, word in enumerate(words))
    )
    given = {"models": "anmm", "data": "wikiqa"}
    found = small("amv-lstm-wikiqa", tmp_path / "out", vectors=str(file), **given)
    row = next(row for row in found.report.tables[0].rows if row.model == "anmm")
    assert (row.options["vectors"], row.seeds) == (str(file), 1)
    (stored,) = (tmp_path / "out" / "runs").rglob("anmm*.json")
    assert json.loads(stored.read_text())["result"]["parameters"] == 600 + 300
    with pytest.raises(InputError, match="There is no file"):
        small("amv-lstm-wikiqa", tmp_path / "out", vectors="missing.txt", **given)
    with pytest.raises(InputError, match="No row of mv-lstm-qa uses glove-50d"):
        small("mv-lstm-qa", tmp_path / "out", vectors=str(file))
