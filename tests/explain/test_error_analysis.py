"""The worst errors of a model, worst first, each with its categories."""

import json
import re
import sys

import numpy as np
import pytest

from explain.browser import needs_chromium, run_in_page
from pairlight import Calibration, InputError, Matcher, Pairs, cli
from pairlight.evaluation.calibration import LabelScale
from pairlight.explain.error_analysis import (
    classification_errors,
    error_analysis,
    error_threshold,
    ranking_errors,
)
from pairlight.explain.render.html import report_page
from toy_pairs import WORDS, overlap


def table(*rows: tuple[str, str, float]) -> Pairs:
    return Pairs.of(*zip(*rows, strict=True))


@pytest.fixture(scope="module")
def bm25():
    return Matcher("bm25").fit(overlap(20, seed=0), progress=False).scorer


def test_with_a_threshold_above_all_scores_every_positive_is_a_false_negative():
    pairs = Pairs.of(["a"] * 5, ["b"] * 5, [0, 0, 0, 1, 0])
    scores = np.full(5, 0.3, np.float32)
    (error,) = classification_errors(pairs, scores, error_threshold(None, pairs, scores))
    assert error.rows == (3,)
    assert error.description.startswith("False negative: ")


def test_the_list_with_the_lowest_best_positive_comes_first():
    pairs = table(
        ("a", "a1", 1), ("a", "a2", 0), ("a", "a3", 0),
        ("b", "b1", 0), ("b", "b2", 1), ("b", "b3", 1),
        ("c", "c1", 1), ("c", "c2", 0),
        ("d", "d1", 0), ("d", "d2", 0),
    )  # fmt: skip
    scores = np.float32([0.1, 0.9, 0.5, 0.8, 0.3, 0.4, 0.7, 0.6, 0.2, 0.1])
    low, high = ranking_errors(pairs, scores)
    assert low.rows == (1, 0)
    assert low.description == "The best positive is ranked 3 of 3, 0.8 below the first."
    assert low.roles == ("Negative, ranked first", "Best positive, ranked 3")
    assert high.rows == (3, 5)  # the better of its two positives


def test_a_tie_of_a_negative_with_the_best_positive_is_an_error_in_any_order():
    rows = [("a", "positive", 1.0), ("a", "negative", 0.0)]
    for order in (rows, rows[::-1]):
        (error,) = ranking_errors(table(*order), np.float32([0.5, 0.5]))
        assert [order[row][1] for row in error.rows] == ["negative", "positive"]


def test_pairs_farthest_from_the_threshold_come_first():
    pairs = table(("a", "w", 1), ("b", "x", 0), ("c", "y", 0), ("d", "z", 1))
    errors = classification_errors(pairs, np.float32([0.4, 0.95, 0.1, 0.8]), 0.5)
    assert [each.rows for each in errors] == [(1,), (0,)]
    assert errors[0].description == "False positive: 0.45 above the threshold of 0.5."
    assert errors[1].roles == ("False negative",)


def test_the_threshold_of_a_calibration_is_used():
    pairs, scores = table(("a", "w", 1), ("b", "x", 0)), np.float32([0.4, 0.9])
    assert error_threshold(Calibration(1.0, 0.0, 0.3), pairs, scores) == 0.3


def test_without_a_calibration_the_threshold_has_the_fewest_errors():
    pairs = table(("a", "w", 1), ("b", "x", 0), ("c", "y", 0), ("d", "z", 1))
    scores = np.float32([0.9, 0.95, 0.1, 0.8])
    errors = classification_errors(pairs, scores, error_threshold(None, pairs, scores))
    assert [each.rows for each in errors] == [(1,)]


@pytest.mark.parametrize("grades", [(1, 2, 3), (0, -1, -2)])
def test_pairs_that_are_all_positive_or_all_negative_have_no_errors(grades):
    pairs, scores = table(*zip("abc", "xyz", grades, strict=True)), np.float32([0.1, 0.2, 0.3])
    assert classification_errors(pairs, scores, error_threshold(None, pairs, scores)) == []


CATEGORIES = {
    "no shared word": ("bama delo", "firi kusi"),
    "negation": ("bama delo", "bama don't delo"),
    "number": ("bama delo 12", "bama delo 13.5"),
    "rare word": ("bama neverseen", "neverseen delo"),
    "long text": ("bama", "bama " + "delo " * 30),
    "other": ("bama delo", "delo bama kusi"),
}


OTHERS = [(f"{a}ama " * 6, f"{a}ama " * 9, 1.0) for a in "dfgklmnprst"]  # texts of typical length


def ranked_third(left: str, right: str) -> list[tuple[str, str, float]]:
    """A list in which two negatives that repeat the left text are ranked above the positive."""
    return [(left, left, 0.0), (left, f"{left} {left}", 0.0), (left, right, 1.0)]


@pytest.mark.parametrize("category", CATEGORIES)
def test_an_error_gets_its_category(bm25, category):
    left, right = CATEGORIES[category]
    (case,) = error_analysis(bm25, table(*ranked_third(left, right), *OTHERS), task="ranking")
    assert case.categories == (category,)
    assert [each.right.text for each in case.explanations] == [f"{left} {left}", right]
    assert case.roles == ("Negative, ranked first", "Best positive, ranked 3")
    assert case.explanations[0].score > case.explanations[1].score


def test_words_of_nearly_every_text_are_not_shared_words(bm25):
    rest = [(f"the {a}ama", f"the {a}odu", 1.0) for a in "bdfgklmn"]
    rows = [("the kusi", "the kusi", 0.0), ("the kusi", "the delo", 1.0), *rest]
    (case,) = error_analysis(bm25, table(*rows), task="ranking")
    assert "no shared word" in case.categories


def test_at_most_limit_errors_are_explained(bm25):
    pairs = overlap(8, seed=1)
    inverted = Pairs(pairs.texts, pairs.left, pairs.right, pairs.group, 1 - pairs.label)
    progress: list[float] = []
    cases = error_analysis(bm25, inverted, 3, progress=progress.append)
    assert len(cases) == 3
    assert progress == [1 / 3, 2 / 3, 1.0]
    assert error_analysis(bm25, pairs) == []


def test_a_text_without_words_is_skipped(bm25):
    pairs = table(("bama", " ", 1), ("bama", "bama", 0), ("delo", "kusi", 1), ("delo", "delo", 0))
    (case,) = error_analysis(bm25, pairs)
    assert case.explanations[0].left.text == "delo"


def test_a_calibrated_model_has_probabilities_and_its_own_threshold(bm25):
    pairs = table(("bama", "bama", 0), ("delo", "kusi", 1), ("firi", "firi", 1))
    (case,) = error_analysis(bm25, pairs, task="pairs", calibration=Calibration(1.0, 0.0, -1.0))
    assert case.description.startswith("False positive: ")
    (it,) = case.explanations
    assert it.probability == pytest.approx(1 / (1 + np.exp(-it.score)))


def test_pairs_without_labels_and_a_limit_of_zero_are_refused(bm25):
    with pytest.raises(InputError, match="no label"):
        error_analysis(bm25, Pairs.of(["a"], ["b"]))
    with pytest.raises(InputError, match="limit=0 must be at least 1"):
        error_analysis(bm25, overlap(2, seed=0), 0)


@pytest.fixture
def evaluate(tmp_path, monkeypatch, capsys):
    """Runs `pairlight evaluate` on inverted labels; returns the exit code, standard output and standard error."""
    Matcher("bm25").fit(overlap(20, seed=0), progress=False).save(tmp_path / "model")
    pairs = overlap(4, seed=1)
    rows = zip(pairs.left, pairs.right, pairs.label, strict=True)
    lines = [f"{pairs.texts[i]}\t{pairs.texts[j]}\t{1 - label:g}" for i, j, label in rows]
    (tmp_path / "data.tsv").write_text("\n".join(["left\tright\tlabel", *lines]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pairlight", "evaluate", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return command


def test_evaluate_writes_the_worst_errors_as_a_page(evaluate, tmp_path):
    code, out, err = evaluate("model", "data.tsv", "--errors", "report.html")
    assert code == 0, err
    assert "P@1      0.0000" in out
    assert "report.html" in err
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    title = re.search("<title>(.*)</title>", text)[1]
    assert "bm25" in title
    assert "data.tsv" in title
    data = json.loads(re.search('id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [len(case["explanations"]) for case in data["cases"]] == [2] * 4


def test_a_run_file_has_no_model_whose_errors_could_be_explained(evaluate, tmp_path):
    code, _, err = evaluate("--run", "r", "--qrels", "q", "--errors", "report.html")
    assert code == 2
    assert "--run is evaluated without a model" in err
    assert not (tmp_path / "report.html").exists()


@needs_chromium
def test_the_page_lists_errors_by_category_and_filters_them(bm25, tmp_path):
    texts = [(f"{left} {own}", right) for (left, right), own in zip(CATEGORIES.values(), WORDS[10:], strict=False)]
    rows = [row for left, right in texts for row in ranked_third(left, right)]
    script = """
    const texts = (part, what) => [...part.querySelectorAll(what)].map((each) => each.textContent);
    const listed = () => [...document.querySelectorAll('nav section')].map((part) => texts(part, 'h2, [dir=auto]'));
    const all = listed();
    const chips = texts(document, '.filters .chip');
    document.querySelector('[data-category="number"]').click();
    const number = listed();
    document.querySelector('.case').click();
    dispatchEvent(new HashChangeEvent('hashchange'));
    return {all, chips, number, focus: document.activeElement.textContent,
        shown: texts(document, '.role'),
        current: document.querySelector('[aria-current="true"]').textContent}"""
    cases = error_analysis(bm25, table(*rows, *OTHERS), task="ranking")
    seen = run_in_page(report_page("Errors", cases), script, tmp_path)
    assert sum(len(group) - 1 for group in seen["all"]) == len(CATEGORIES)
    assert {"all 6", "number 1", "rare word 1", "long text 1"} < set(seen["chips"])
    assert seen["number"] == [["number", f"bama delo 12 {WORDS[12]}"]]
    assert seen["shown"] == ["Negative, ranked first", "Best positive, ranked 3"]
    assert seen["current"].startswith("bama delo 12")


@needs_chromium
def test_a_page_without_errors_says_so(tmp_path):
    script = "return document.getElementById('hint').textContent"
    assert run_in_page(report_page("Errors", []), script, tmp_path) == "There are no cases to show."


def test_graded_errors_are_sorted_by_the_distance_of_the_predicted_label(bm25):
    pairs = table(("bama delo", "bama delo", 5), ("firi godu", "bama", 1), ("kusi", "kusi", 0), ("lemo", "nope", 2))
    cases = error_analysis(bm25, pairs)
    assert len(cases) == 4
    assert all("The predicted label " in case.description for case in cases)
    gaps = [float(case.description.split(" is ")[1].split()[0]) for case in cases]
    assert gaps == sorted(gaps, reverse=True)
    assert cases[0].roles[0].startswith("Label 0, predicted ")
    scale = LabelScale(0, 5, 0.0, 0.0)
    calibrated = error_analysis(bm25, pairs, calibration=Calibration(None, None, None, scale))
    assert {case.roles[0].split("predicted ")[1] for case in calibrated} == {"2.5"}
    assert all(each.probability is None for case in calibrated for each in case.explanations)
