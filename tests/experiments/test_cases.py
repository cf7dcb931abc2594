"""The case studies of the papers: models are trained once, and a page shows the paper's examples."""

from dataclasses import replace

import pytest
import torch

from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.splits import train_dev_test
from pairlight.experiments import cases
from pairlight.experiments.cases import CASES, FORMAT_STICK, GAMES, LANGUAGES, STACK, STICK, best_positions
from pairlight.experiments.executor import SerialExecutor
from pairlight.experiments.reproduce import Reproduction, reproduce
from pairlight.experiments.sources import SOURCES, ExperimentSource
from pairlight.layers.types import Grid
from toy_pairs import overlap

TINY = {"hidden": 4, "dim": 4}


def toy_splits() -> dict[str, Pairs]:
    splits = train_dev_test(overlap(30, seed=0))
    pairs = splits["train"]
    left = [pairs.texts[i] for i in pairs.left] + [STICK, STICK, cases.FREE, cases.FREE]
    right = [pairs.texts[i] for i in pairs.right] + [FORMAT_STICK, STACK, LANGUAGES, GAMES]
    return splits | {"train": Pairs.of(left, right, [*pairs.labels.tolist(), 1, 0, 1, 0])}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a case study with tiny models on toy lists."""
    monkeypatch.setattr(cases, "SMALL_EPOCHS", 1)
    for name, case in list(CASES.items()):
        options = {"vectors": "none", "lr": 0.1, "batch": 8}
        rows = tuple(replace(row, settings={**row.settings, "dim": 4}, options=options) for row in case.rows)
        monkeypatch.setitem(CASES, name, replace(case, rows=rows))

    def run(name: str, splits: dict[str, Pairs], **given) -> Reproduction:
        source = ExperimentSource("toy", "Made up.", lambda limit, progress: splits)
        monkeypatch.setitem(SOURCES, CASES[name].dataset, source)
        return reproduce(name, tmp_path, command=f"pairlight reproduce {name}", executor=SerialExecutor(), **given)

    return run


def test_the_cases_of_mv_lstm_show_both_tables_and_the_statistic(run, tmp_path):
    found = run("mv-lstm-cases", toy_splits())
    assert {each.model for each in found.report.runs} == {"mv-lstm", "multigran-cnn"}
    text = found.markdown
    assert "Ours: word vectors are not trained" in text
    assert "Table 1, k = 1" in text
    assert "| 5 |" in text.split("Table 1, k = 5")[1]
    assert "memory, memory 0.84 |" in text
    (mv_lstm,) = [line for line in text.splitlines() if line.startswith("| MV-LSTM (k=5) |")]
    assert mv_lstm.split("|")[6].count(",") == 1  # free occurs twice in the negative
    assert "positive test pairs" in text
    assert "| neither first nor last in both texts |" in text
    assert {file.name for file in tmp_path.glob("*.png")} == {
        "mv-lstm-cases-small-1-k-1.png",
        "mv-lstm-cases-small-1-k-5.png",
    }
    times = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").rglob("*.json")}
    assert run("mv-lstm-cases", toy_splits()).markdown == text
    assert all(file.stat().st_mtime_ns == time for file, time in times.items())


def test_the_path_of_match_srnn_is_compared_with_that_of_the_paper(run, tmp_path):
    text = run("match-srnn-path", toy_splits(), seeds=2).markdown
    assert text.count("| memory–memory | ") == 2
    assert "## Seed 2" in text
    assert (tmp_path / "match-srnn-path-small-2.png").is_file()


def crocodiles() -> dict[str, Pairs]:
    splits = train_dev_test(overlap(30, seed=0))
    answers = [
        "Crocodiles (subfamily Crocodylinae) live throughout the tropics .",
        "Crocodiles have more webbing on the toes .",
        "Also when the crocodile 's mouth is closed .",
    ]
    return splits | {"test": Pairs.of(["Where do crocodiles live ?"] * 3, answers, [1, 0, 0])}


def test_the_answers_about_crocodiles_have_a_score_and_a_rank_by_four_models(run):
    text = run("amv-lstm-crocodiles", crocodiles()).markdown
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| Crocodiles (sub")]
    assert len(rows) == 1
    assert sum(cell.startswith("(") for cell in rows[0]) == 8
    assert "(1) 0.900" in rows[0]
    gates = [line for line in text.splitlines() if ", question | " in line]
    assert [line.split(",")[0] for line in gates] == ["| aMV-LSTM (Q)", "| aMV-LSTM (Q+A)"]
    assert sum(map(float, gates[0].split("|")[2].split(","))) == pytest.approx(1, abs=0.03)


def test_a_dataset_without_the_question_is_one_clear_line(run):
    with pytest.raises(InputError, match="No question of the dataset starts with 'where do crocodiles live'"):
        run("amv-lstm-crocodiles", train_dev_test(overlap(30, seed=0)))


@pytest.mark.parametrize("given", [{"models": "bm25"}, {"data": "wikiqa"}, {"finished": True}, {"as_published": True}])
def test_options_of_tables_are_refused(run, given, tmp_path):
    with pytest.raises(InputError):
        run("match-srnn-path", toy_splits(), **given)
    assert not list(tmp_path.iterdir())


def test_best_positions_are_counted_where_the_largest_interaction_is(monkeypatch):
    pairs = Pairs.of(["a b c d", "a b c d", "a b c d", "a b"], ["e f g", "h i j", "k l m", "n o"], [1, 1, 0, 1])
    matcher = Matcher("mv-lstm", evidence=False, interaction="cosine", **TINY)
    matcher.fit(pairs, pairs, vectors="none", epochs=0, progress=False)
    peaks = iter([(0, 0), (1, 1)])

    def grid_with_peak(u, v):
        x = torch.zeros(1, 1, u.x.shape[1], v.x.shape[1])
        if x.shape[2] > 2:
            x[0, 0, *next(peaks)] = 1
        return Grid(x, torch.ones(x.shape[2:], dtype=torch.bool)[None])

    monkeypatch.setattr(matcher.scorer.model, "interact", grid_with_peak)
    found = best_positions(matcher, pairs)
    assert (found.pairs, found.both_first, found.both_last, found.neither) == (2, 1, 0, 1)
    assert (found.left_edge, found.right_edge) == (1, 1)
    assert found.expected_neither == pytest.approx(2 / 12)
