"""The faithfulness benchmark trains each model once and marks methods that are not better than random words."""

import pytest

from benchmarks import faithfulness
from benchmarks.faithfulness import FaithfulnessResult, faithfulness_table, measure_model, sample_pairs
from pairlight import Matcher
from pairlight.data.pairs import Pairs
from pairlight.experiments.spec import RunSpec
from pairlight.explain.faithfulness import DeletionCurve
from toy_pairs import overlap


@pytest.fixture
def splits() -> dict[str, Pairs]:
    return {name: overlap(10, seed) for seed, name in enumerate(("train", "dev", "test"))}


def test_a_model_is_trained_once_and_measured_with_every_method_it_supports(splits, tmp_path, monkeypatch):
    spec = RunSpec("bm25", 1, {}, {})
    first = measure_model(tmp_path, 6, spec, splits)
    monkeypatch.setattr(faithfulness, "train_run", None)
    again = measure_model(tmp_path, 6, spec, splits)
    assert again.curves == first.curves
    assert [curve.method for curve in first.curves] == ["leave-one-out", "mechanism"]
    assert first.curves[0].pairs == 6
    assert first.MAP == 1
    assert FaithfulnessResult.from_dict(first.as_dict()) == first


def test_all_models_get_the_same_pairs_and_none_without_words(splits):
    tokenizer = Matcher("bm25").fit(splits["train"], progress=False).scorer.tokenizer
    test = Pairs.of(["bama delo", "bama delo", "bama"], ["delo", " ", "firi"], [1, 0, 0])
    assert sorted(sample_pairs(tokenizer, test, 5)) == [("bama", "firi"), ("bama delo", "delo")]
    assert sample_pairs(tokenizer, splits["test"], 7) == sample_pairs(tokenizer, splits["test"], 9)[:7]


def test_methods_that_are_not_better_than_random_are_bold_and_missing_explanations_are_counted():
    curves = (
        DeletionCurve("leave-one-out", (1.0, 2.0), (0.5, 0.5), 20, 0.1),
        DeletionCurve("mechanism", (0.4, 0.6), (0.5, 0.5), 8, 0.1),
    )
    results = [
        FaithfulnessResult(model, MAP, (0.1, 0.2), curves, 1.0) for model, MAP in (("knrm", 0.5), ("bm25", 0.25))
    ]
    assert faithfulness_table(results).splitlines()[2:] == [
        "| bm25 | 0.25 | 0.50 | 1.5 | – | **0.50** (8) |",
        "| knrm | 0.50 | 0.50 | 1.5 | – | **0.50** (8) |",
    ]


def test_the_benchmark_writes_a_table_and_keeps_finished_models(splits, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(faithfulness, "load_dataset", lambda name, folder: splits)
    for _ in range(2):
        faithfulness.run(["random", "bm25"], 4, None, tmp_path)
    lines = (tmp_path / "faithfulness.md").read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ")[0] for line in lines] == ["| model", "| ---", "| random", "| bm25"]
    assert capsys.readouterr().err.count("bm25: ") == 2
