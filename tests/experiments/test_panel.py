"""The panel runs every model with its defaults, continues where it stopped, and says which checks fail."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pairlight.core.progress import ProgressReporter
from pairlight.data.splits import Splits, train_dev_test
from pairlight.experiments import defaults, panel, sources
from pairlight.experiments.defaults import choose_defaults, defaults_report
from pairlight.experiments.executor import SerialExecutor
from pairlight.experiments.panel import (
    MAIN_MODELS,
    PANEL,
    PanelRecords,
    PanelResult,
    all_panel_runs,
    cut_lists,
    cut_splits,
    panel_runs,
    run_panel,
)
from pairlight.experiments.panel_report import panel_report
from pairlight.experiments.sources import ExperimentSource
from pairlight.models import MODELS
from toy_pairs import overlap


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All datasets of the panel are the same toy lists."""

    def make(limit: int | None, progress: object) -> Splits:
        return train_dev_test(overlap(60, seed=0))

    source = ExperimentSource("toy lists", "Made for tests.", make)
    monkeypatch.setattr(sources, "SOURCES", dict.fromkeys(PANEL, source))


def result(**changes: object) -> PanelResult:
    found = PanelResult(
        key="k",
        dataset="wikiqa",
        cut=500,
        model="mv-lstm",
        seed=1,
        settings={},
        options={},
        metric="MAP",
        dev={"model": 0.7, "start": 0.6, "bm25": 0.5},
        test={"model": 0.7, "bm25": 0.5},
        low=0.1,
        high=0.3,
        best_epoch=2,
        seconds=1.0,
    )
    return replace(found, **changes)


def test_the_panel_has_every_model_with_500_lists_and_the_main_models_on_every_cut() -> None:
    runs = all_panel_runs(seeds=3)
    assert {run.spec.model for run in runs if run.cut == 500} == set(MODELS) - {"random"}
    assert {run.spec.model for run in runs if run.cut != 500} == set(MAIN_MODELS)
    main = [run for run in runs if run.spec.model == "mv-lstm"]
    assert len(main) == len(PANEL) * 4 * 3
    assert len({run.key for run in runs}) == len(runs)


def test_a_cut_keeps_whole_lists_and_is_always_the_same() -> None:
    pairs = overlap(60, seed=0)
    cut = cut_lists(pairs, 7)
    assert cut.lists == 7
    assert cut.digest() == cut_lists(pairs, 7).digest()
    assert len(cut) * 60 == len(pairs) * 7
    splits = train_dev_test(pairs)
    assert cut_splits(splits, 0) is splits
    assert cut_splits(splits, 5)["test"] is splits["test"]


def test_a_panel_continues_where_it_stopped(toy: None, tmp_path: Path) -> None:
    runs = panel_runs(["knrm"], ["wikiqa", "quora"], [20], 1)
    records = PanelRecords(tmp_path / "panel.jsonl")
    assert not run_panel(runs, records, tmp_path, SerialExecutor(), ProgressReporter(), measure_test=True)
    (first, second) = records.of(runs)
    assert (first.dataset, second.dataset) == ("wikiqa", "quora")
    assert first.test.keys() == {"model", "bm25"}
    assert first.passes_dev
    assert first.low is not None
    assert first.low <= first.test["model"] - first.test["bm25"] + 1e-9
    again = PanelRecords(tmp_path / "panel.jsonl")
    before = (tmp_path / "panel.jsonl").read_text()
    run_panel(runs, again, tmp_path, SerialExecutor(), ProgressReporter(), measure_test=True)
    assert (tmp_path / "panel.jsonl").read_text() == before
    assert again.of(runs) == [first, second]


def test_a_damaged_line_of_the_records_costs_only_its_run(tmp_path: Path) -> None:
    path = tmp_path / "panel.jsonl"
    records = PanelRecords(path)
    for key in ("a", "b"):
        records.add(replace(result(), key=key))
    content = path.read_bytes()
    for damaged in (content[:-30], content.replace(b'"key": "b"', b'"key": "c"')):  # cut, or a checksum that is wrong
        path.write_bytes(damaged)
        with pytest.warns(UserWarning, match=r"panel\.jsonl, line 2 is damaged .*: its run is repeated"):
            found = PanelRecords(path)
        assert list(found.results) == ["a"]
    path.write_bytes(content[:-30])
    with pytest.warns(UserWarning, match="line 2 is damaged"):
        PanelRecords(path).add(replace(result(), key="b"))
    with pytest.warns(UserWarning, match="line 2 is damaged"):  # the new line does not continue the damaged one
        assert list(PanelRecords(path).results) == ["a", "b"]


def test_lines_of_earlier_versions_have_no_checksum_and_are_read(tmp_path: Path) -> None:
    path = tmp_path / "panel.jsonl"
    path.write_text(json.dumps(result().as_dict()) + "\n")
    assert PanelRecords(path).results == {result().key: result()}
    committed = Path(__file__).parents[2] / "docs" / "panel"
    assert all(PanelRecords(committed / f"{name}.jsonl").results for name in ("panel", "defaults"))


def test_other_defaults_are_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = panel_runs(["knrm"], ["wikiqa"], [20], 1)
    before = run.key
    monkeypatch.setattr("pairlight.models.knrm.KNRM.training_defaults", {"lr": 0.5})
    assert run.key != before


def test_the_report_has_the_mean_of_seeds_and_names_what_fails() -> None:
    text = panel_report(
        [
            result(cut=0, seed=1),
            result(cut=0, seed=2, test={"model": 0.72, "bm25": 0.5}),
            result(cut=100, dev={"model": 0.5, "start": 0.6, "bm25": 0.5}),
            result(cut=2000, test={"model": 0.4, "bm25": 0.5}, low=-0.2, high=-0.05),
        ]
    )
    assert "| mv-lstm | 0.710 ± 0.014 | 2 |" in text
    assert "| BM25 | 0.500 |  |" in text
    assert "- dev: mv-lstm on wikiqa, 100, seed 1: 0.500, BM25 0.500" in text
    assert "- test: mv-lstm on wikiqa, 2000, seed 1: 0.400, BM25 0.500" in text
    assert "3 of 4" in text


def test_a_difference_within_the_margin_passes() -> None:
    assert result(high=-0.009).passes_test
    assert not result(high=-0.011).passes_test


def test_spearman_has_an_interval_by_resampling_pairs() -> None:
    pairs = replace(overlap(60, seed=0))
    labels = np.linspace(0, 1, len(pairs)).astype(np.float32)
    pairs = replace(pairs, label=labels)
    noise = np.random.default_rng(0).normal(size=len(pairs)).astype(np.float32)
    low, high = panel._interval(pairs, labels, noise, "Spearman", None, None)
    assert 0.5 < low < high < 1.5
    assert panel._interval(pairs, labels, labels, "Spearman", None, None) == (0.0, 0.0)


def test_defaults_are_the_candidate_with_the_best_mean_rank_on_dev(
    toy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "CUT", 20)
    records = PanelRecords(tmp_path / "defaults.jsonl")
    (choice,), failures = choose_defaults(records, tmp_path, SerialExecutor(), ProgressReporter(), ["dssm"])
    assert not failures
    assert choice.best in defaults.CANDIDATES
    tried = {json.dumps(options): metrics for options, metrics in choice.metrics}
    assert [len(metrics) for metrics in tried.values()].count(len(PANEL)) == 1  # 3 candidates, halved to 1
    assert all(not found.test for found in records.results.values())
    assert "**chosen**" in defaults_report([choice])
    begun = defaults.Choice(choice.model, choice.best, tuple((options, {}) for options, _ in choice.metrics))
    assert defaults_report([begun]) == defaults_report([])  # nothing is chosen where nothing was run
