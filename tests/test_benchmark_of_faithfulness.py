"""The table of faithfulness: models are trained once, and what is no better than random is marked."""

import pytest

from benchmarks import faithfulness
from benchmarks.faithfulness import drawn, faithful, table
from pairlight import Matcher
from pairlight.experiments.compare import Cell
from pairlight.data.pairs import Pairs
from toy_pairs import overlap


@pytest.fixture
def parts() -> dict[str, Pairs]:
    return {part: overlap(10, seed) for seed, part in enumerate(("train", "dev", "test"))}


def test_a_model_is_trained_once_and_told_by_every_kind_it_allows(parts, tmp_path, monkeypatch):
    cell = Cell("bm25", 1, {}, {})
    first = faithful(tmp_path, 6, cell, parts)
    monkeypatch.setattr(faithfulness, "trained", None)
    again = faithful(tmp_path, 6, cell, parts)
    assert again["curves"] == first["curves"]
    assert set(first["curves"]) == {"leave-one-out", "mechanism"}
    assert first["curves"]["leave-one-out"]["pairs"] == 6
    assert first["MAP"] == 1


def test_the_same_pairs_are_drawn_and_none_without_a_word(parts):
    matcher = Matcher("bm25").fit(parts["train"], progress=False)
    test = Pairs.of(["bama delo", "bama delo", "bama"], ["delo", " ", "firi"], [1, 0, 0])
    assert sorted(drawn(matcher, test, 5)) == [("bama", "firi"), ("bama delo", "delo")]
    assert drawn(matcher, parts["test"], 7) == drawn(matcher, parts["test"], 9)[:7]


def test_what_is_no_better_than_random_is_bold_and_what_was_not_always_told_is_counted():
    curve = {"falls": [1.0, 2.0], "random": [0.5, 0.5], "pairs": 20, "faithful": True}
    curves = {"leave-one-out": curve, "mechanism": curve | {"falls": [0.4, 0.6], "pairs": 8, "faithful": False}}
    text = table([{"model": "knrm", "MAP": 0.5, "curves": curves}, {"model": "bm25", "MAP": 0.25, "curves": curves}])
    rows = text.splitlines()[2:]
    assert rows == [
        "| bm25 | 0.25 | 0.50 | 1.5 | – | **0.50** (8) |",
        "| knrm | 0.50 | 0.50 | 1.5 | – | **0.50** (8) |",
    ]
