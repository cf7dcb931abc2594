"""Models are compared on the same data, and the leaderboard shows what was measured."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.data.splits import SPLITS, split
from pairlight.evaluation.evaluate import check_can_evaluate
from pairlight.experiments import compare, curves
from pairlight.experiments.compare import choose_metric, compare_models, complete_splits
from pairlight.experiments.executor import Executor, ProcessExecutor, SerialExecutor
from pairlight.experiments.leaderboard import (
    Leaderboard,
    LeaderboardRow,
    leaderboard_markdown,
    leaderboard_rows,
    write_leaderboard,
)
from pairlight.experiments.records import Values
from pairlight.experiments.runs import train_and_save
from pairlight.experiments.spec import EpochResult, RunResult, plan_runs
from toy_pairs import overlap

PAIRS = overlap(40, seed=0)
FAST: Values = {"epochs": 1, "vectors": "none"}


class Lines(ProgressReporter):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def compared(
    out: Path,
    models: str,
    seeds: int = 1,
    *,
    options: Values = FAST,
    pairs: Pairs = PAIRS,
    executor: Executor | None = None,
    reporter: ProgressReporter | None = None,
) -> Leaderboard:
    return compare_models(
        complete_splits(pairs),
        plan_runs(models.split(","), range(1, 1 + seeds), options),
        out,
        dataset="toy.tsv",
        options=options,
        command="pairlight compare toy.tsv",
        executor=executor or SerialExecutor(),
        reporter=reporter,
    )


def test_a_comparison_writes_a_leaderboard_and_repeats_no_run(tmp_path: Path) -> None:
    reporter = Lines()
    board = compared(tmp_path, "random,bm25,lstm-rnn", 2, executor=ProcessExecutor(2), reporter=reporter)
    assert {row.model: row.seeds for row in board.rows} == {"random": 2, "bm25": 2, "lstm-rnn": 2}
    assert [row.test["MAP"] for row in board.rows] == sorted((row.test["MAP"] for row in board.rows), reverse=True)
    assert json.loads((tmp_path / "leaderboard.json").read_text()) == json.loads(json.dumps(board.as_dict()))
    text = (tmp_path / "leaderboard.md").read_text()
    assert text == leaderboard_markdown(board)
    assert "| bm25 | 1.000 ± 0.000 |" in text
    assert "mean ± standard deviation of 2 seeds" in text
    assert "bm25" in (tmp_path / "leaderboard.html").read_text()
    assert len([line for line in reporter.lines if ", seed " in line]) == 6
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").iterdir()}
    assert len(times) == 6
    next(iter(times)).unlink()
    again = compared(tmp_path, "random,bm25,lstm-rnn", 2)
    assert len([file for file, time in times.items() if file.stat().st_mtime_ns == time]) == 5
    assert [row.test for row in again.rows] == [row.test for row in board.rows]


def test_a_leaderboard_links_to_explained_disagreements_and_shows_learning_curves(tmp_path: Path) -> None:
    board = compared(tmp_path, "random,bm25,lstm-rnn", 2)
    folders = sorted(folder.name.rsplit("-", 1)[0] for folder in (tmp_path / "models").iterdir())
    assert folders == ["bm25-1", "lstm-rnn-1", "random-1"]
    best, *others = board.rows
    assert best.disagreements is None
    for row in others:
        assert row.disagreements is not None
        page = row.disagreements.page
        assert f"]({page})" in (tmp_path / "leaderboard.md").read_text()
        assert f'href="{page}"' in (tmp_path / "leaderboard.html").read_text()
        assert f"{best.model} and {row.model} disagree" in (tmp_path / page).read_text()
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "![Training loss and dev metric after every epoch](curves.png)" in leaderboard_markdown(board)

    for name in ("models", "disagreements"):
        shutil.rmtree(tmp_path / name)
    reporter = Lines()
    assert not any(row.disagreements for row in compared(tmp_path, "random,bm25", 2, reporter=reporter).rows)
    assert "disagreements" not in (tmp_path / "leaderboard.md").read_text()
    assert any(line.startswith("random: disagreements are not shown") for line in reporter.lines)


def test_a_single_seed_has_no_standard_deviation(tmp_path: Path) -> None:
    board = compared(tmp_path, "bm25")
    assert "| bm25 | 1.000 |" in leaderboard_markdown(board)
    assert "±" not in leaderboard_markdown(board)
    assert board.curves is None


def test_older_learning_curves_are_deleted(tmp_path: Path) -> None:
    assert compared(tmp_path, "lstm-rnn").curves == tmp_path / "curves.png"
    assert compared(tmp_path, "bm25").curves is None
    assert not (tmp_path / "curves.png").exists()


def test_without_matplotlib_there_are_no_learning_curves(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(curves, "find_spec", lambda name: None)
    reporter = Lines()
    assert compared(tmp_path, "lstm-rnn", reporter=reporter).curves is None
    assert "Learning curves are not drawn. Figures need matplotlib: pip install 'pairlight[plots]'." in reporter.lines


def fail_lstm_rnn(folder, seed, spec, splits):
    if spec.model == "lstm-rnn":
        raise InputError("The loss became nan.")
    return train_and_save(folder, seed, spec, splits)


def test_a_failed_run_is_named_and_the_others_make_the_leaderboard(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(compare, "train_and_save", fail_lstm_rnn)
    reporter = Lines()
    board = compared(tmp_path, "lstm-rnn,bm25", reporter=reporter)
    assert [row.model for row in board.rows] == ["bm25"]
    assert [failed.spec.model for failed in board.failures] == ["lstm-rnn"]
    assert "Failed: lstm-rnn, seed 1: The loss became nan." in reporter.lines
    with pytest.raises(InputError, match=r"1 run failed\. lstm-rnn, seed 1: The loss became nan"):
        compared(tmp_path, "lstm-rnn")


def test_runs_on_other_data_are_not_mixed_in(tmp_path: Path) -> None:
    compared(tmp_path, "bm25")
    with pytest.raises(InputError, match="contains runs on other data") as error:
        compared(tmp_path, "bm25", pairs=overlap(40, seed=1))
    assert error.value.option == "out"
    (tmp_path / "data.json").write_text("{")
    with pytest.raises(InputError, match=r"data\.json is damaged"):
        compared(tmp_path, "bm25")
    (tmp_path / "data.json").unlink()
    shutil.rmtree(tmp_path / "runs")
    compared(tmp_path, "bm25", pairs=overlap(40, seed=1))


def test_positive_pairs_are_compared_with_mined_negatives(tmp_path: Path) -> None:
    positives = PAIRS.take([row for row in range(len(PAIRS)) if PAIRS.labels[row] > 0])
    with pytest.raises(InputError, match="No metric can be computed on the dev pairs"):
        compared(tmp_path, "bm25", pairs=positives)
    board = compared(tmp_path, "bm25", pairs=positives, options={**FAST, "negatives": "random"})
    assert board.metric == "MAP"


def test_the_warnings_of_runs_are_shown_once(tmp_path: Path) -> None:
    long = Pairs.of(
        [f"{PAIRS.texts[i]} {'long ' * 260}" for i in PAIRS.left], [PAIRS.texts[i] for i in PAIRS.right], PAIRS.label
    )
    reporter = Lines()
    compared(tmp_path, "knrm", 2, pairs=long, reporter=reporter)
    notes = [line for line in reporter.lines if line.startswith("Note: ") and "truncated" in line]
    assert len(notes) == len(set(notes)) > 0


def test_missing_splits_are_split_off() -> None:
    parts = split(PAIRS)
    assert [len(pairs) for pairs in complete_splits(PAIRS).values()] == [len(part) for part in parts]
    assert tuple(complete_splits(PAIRS)) == SPLITS
    train, dev = split(PAIRS, (0.9, 0.1))
    found = complete_splits(PAIRS, test=parts[2])
    assert (len(found["train"]), len(found["dev"]), found["test"]) == (len(train), len(dev), parts[2])
    assert complete_splits(PAIRS, parts[1], parts[2])["train"] is PAIRS
    with pytest.raises(InputError, match="There are dev pairs but no test pairs"):
        complete_splits(PAIRS, parts[1])


def test_dev_and_test_must_have_the_metric_in_common() -> None:
    lists, alone = overlap(6, seed=0), Pairs.of(["a", "b", "c"], ["a", "x", "c"], [1, 0, 1])
    rated = Pairs.of(["a", "b", "c"], ["a", "x", "c"], [3.0, 1.0, 2.0])
    splits = {"train": lists, "dev": lists, "test": lists}
    assert choose_metric(splits, "auto") == "MAP"
    assert choose_metric(splits, "MRR") == "MRR"
    assert choose_metric({"dev": alone, "test": alone}, "auto") == "accuracy"
    assert choose_metric({"dev": rated, "test": rated}, "auto") == "Spearman"
    with pytest.raises(InputError, match="dev pairs form ranking lists and the test pairs independent pairs"):
        choose_metric(splits | {"test": alone}, "auto")
    with pytest.raises(InputError, match=r"metric='accuracy' cannot be computed on ranking lists.*: choose from P@1"):
        choose_metric(splits, "accuracy")
    with pytest.raises(InputError, match=r"No metric can be computed on the test pairs\."):
        check_can_evaluate(replace(alone, label=alone.labels * 0), "the test pairs")


def test_rows_are_means_over_seeds() -> None:
    def result(seed: int, score: float) -> RunResult:
        return RunResult(
            model="a", seed=seed, settings={}, options={}, dev={"MAP": score}, test={"MAP": score, "MRR": 0.5},
            epochs=(EpochResult(1, 1.0, score, 2.0),), train_seconds=2.0 * seed, seconds=9.0, parameters=7,
        )  # fmt: skip

    (row,) = leaderboard_rows([result(1, 0.4), result(2, 0.6)], "MAP", {"a": 0.55})
    assert (row.seeds, row.test["MAP"], row.dev, row.paper, row.train_seconds) == (2, 0.5, 0.5, 0.55, 3.0)
    assert row.std["MAP"] == pytest.approx(0.1)
    assert "| a | 0.500 ± 0.100 | 0.500 | 0.500 | 0.550 | 3 | 7 |" in leaderboard_markdown(
        Leaderboard("toy", "MAP", "x", (row,))
    )


@pytest.mark.parametrize(("values", "shares"), [((0.5, -0.2), ("100.0%", "0.0%")), ((0.0, -0.4), ("0.0%", "0.0%"))])
def test_bars_of_scores_that_are_not_positive_are_empty(tmp_path: Path, values, shares) -> None:
    rows = tuple(
        LeaderboardRow(model, 1, {"Spearman": value}, {"Spearman": 0.0}, 0.0, None, 0.0, 0, {}, {})
        for model, value in zip("ab", values, strict=True)
    )
    write_leaderboard(tmp_path, Leaderboard("toy", "Spearman", "x", rows))
    html = (tmp_path / "leaderboard.html").read_text("utf-8")
    assert re.findall('--share:(.*?)"', html) == list(shares)
