"""The worst mistakes: the right ones, worst first, each with what may have made it hard."""

import json
import re
import sys

import numpy as np
import pytest

from explain.browser import found, needs_chromium
from pairlight import InputError, Matcher, Pairs, cli
from pairlight.explain.error_analysis import called_wrong, mistakes, ranked_low, threshold_of
from pairlight.explain.render.html import report
from toy_pairs import WORDS, overlap


def table(*rows: tuple[str, str, float]) -> Pairs:
    return Pairs.of(*zip(*rows, strict=True))


@pytest.fixture(scope="module")
def bm25():
    return Matcher("bm25").fit(overlap(20, seed=0), progress=False)


def test_a_threshold_above_all_scores_calls_none_a_match():
    pairs = Pairs.of(["a"] * 5, ["b"] * 5, [0, 0, 0, 1, 0])
    scores = np.full(5, 0.3, np.float32)
    (missed,) = called_wrong(pairs, scores, threshold_of(Matcher("bm25"), pairs, scores))
    assert missed.rows == (3,)
    assert missed.about.startswith("A match, missed")


def test_the_list_whose_right_answer_stands_lowest_comes_first():
    pairs = table(
        ("a", "a1", 1), ("a", "a2", 0), ("a", "a3", 0),
        ("b", "b1", 0), ("b", "b2", 1), ("b", "b3", 1),
        ("c", "c1", 1), ("c", "c2", 0),
        ("d", "d1", 0), ("d", "d2", 0),
    )  # fmt: skip
    scores = np.float32([0.1, 0.9, 0.5, 0.8, 0.3, 0.4, 0.7, 0.6, 0.2, 0.1])
    low, high = ranked_low(pairs, scores)
    assert low.rows == (1, 0)
    assert low.about == "The right answer is ranked 3 of 3, 0.8 below the first."
    assert high.rows == (3, 5)  # the better of its two right answers


def test_an_equal_score_of_a_wrong_answer_is_a_mistake_in_whatever_order():
    rows = [("a", "right", 1.0), ("a", "wrong", 0.0)]
    for order in (rows, rows[::-1]):
        (only,) = ranked_low(table(*order), np.float32([0.5, 0.5]))
        assert [order[row][1] for row in only.rows] == ["wrong", "right"]


def test_pairs_furthest_on_the_wrong_side_come_first():
    pairs = table(("a", "w", 1), ("b", "x", 0), ("c", "y", 0), ("d", "z", 1))
    wrong = called_wrong(pairs, np.float32([0.4, 0.95, 0.1, 0.8]), 0.5)
    assert [each.rows for each in wrong] == [(1,), (0,)]
    assert wrong[0].about == "Called a match, and none: 0.45 above the threshold of 0.5."
    assert wrong[1].roles == ("A match, missed",)


def test_without_a_threshold_that_of_fewest_mistakes_counts():
    pairs = table(("a", "w", 1), ("b", "x", 0), ("c", "y", 0), ("d", "z", 1))
    scores = np.float32([0.9, 0.95, 0.1, 0.8])
    assert [each.rows for each in called_wrong(pairs, scores, threshold_of(Matcher("bm25"), pairs, scores))] == [(1,)]


@pytest.mark.parametrize("grades", [(1, 2, 3), (0, -1, -2)])
def test_grades_without_a_match_or_a_miss_leave_none_wrong(grades):
    pairs, scores = table(*zip("abc", "xyz", grades, strict=True)), np.float32([0.1, 0.2, 0.3])
    assert called_wrong(pairs, scores, threshold_of(Matcher("bm25"), pairs, scores)) == []


KINDS = {
    "no shared word": ("bama delo", "firi kusi"),
    "negation": ("bama delo", "bama don't delo"),
    "number": ("bama delo 12", "bama delo 13.5"),
    "rare word": ("bama neverseen", "neverseen delo"),
    "long text": ("bama", "bama " + "delo " * 30),
    "other": ("bama delo", "delo bama kusi"),
}


USUAL = [(f"{a}ama " * 6, f"{a}ama " * 9, 1.0) for a in "dfgklmnprst"]  # how long texts are by and large


def wrong_about(left: str, right: str) -> list[tuple[str, str, float]]:
    """Two wrong answers that say all that the left text does stand above the right one."""
    return [(left, left, 0.0), (left, f"{left} {left}", 0.0), (left, right, 1.0)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mistake_is_told_by_its_kind(bm25, kind):
    left, right = KINDS[kind]
    (case,) = mistakes(bm25, table(*wrong_about(left, right), *USUAL), kind="ranking")
    assert case.kinds == (kind,)
    assert [each.right.text for each in case.explanations] == [f"{left} {left}", right]
    assert case.roles == ("Ranked first, and wrong", "The right answer, ranked 3")
    assert case.explanations[0].score > case.explanations[1].score


def test_words_that_nearly_every_text_has_are_not_shared_words(bm25):
    rest = [(f"the {a}ama", f"the {a}odu", 1.0) for a in "bdfgklmn"]
    rows = [("the kusi", "the kusi", 0.0), ("the kusi", "the delo", 1.0), *rest]
    (case,) = mistakes(bm25, table(*rows), kind="ranking")
    assert "no shared word" in case.kinds


def test_no_more_mistakes_are_explained_than_asked_for(bm25):
    pairs = overlap(8, seed=1)
    turned = Pairs(pairs.texts, pairs.left, pairs.right, pairs.group, 1 - pairs.label)
    progress: list[float] = []
    cases = mistakes(bm25, turned, 3, progress=progress.append)
    assert len(cases) == 3
    assert progress == [1 / 3, 2 / 3, 1.0]
    assert mistakes(bm25, pairs) == []


def test_a_text_without_words_is_passed_over(bm25):
    pairs = table(("bama", " ", 1), ("bama", "bama", 0), ("delo", "kusi", 1), ("delo", "delo", 0))
    (case,) = mistakes(bm25, pairs)
    assert case.explanations[0].left.text == "delo"


def test_what_cannot_be_judged_is_told(bm25):
    with pytest.raises(InputError, match="no labels"):
        mistakes(bm25, Pairs.of(["a"], ["b"]))
    with pytest.raises(InputError, match="limit=0"):
        mistakes(bm25, overlap(2, seed=0), 0)


@pytest.fixture
def evaluate(bm25, tmp_path, monkeypatch, capsys):
    """Run `pairlight evaluate` on labels that are all wrong; give the exit code and what was printed."""
    bm25.save(tmp_path / "model")
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


def test_evaluate_writes_its_mistakes_as_a_page(evaluate, tmp_path):
    code, out, err = evaluate("model", "data.tsv", "--errors", "report.html")
    assert code == 0
    assert "P@1      0.0000" in out
    assert "The 4 worst mistakes are in report.html" in err
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>The worst mistakes of bm25 on data.tsv</title>" in text
    data = json.loads(re.search('id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [len(case["explanations"]) for case in data["cases"]] == [2] * 4


def test_evaluate_explains_no_run(evaluate, tmp_path):
    code, _, err = evaluate("--run", "r", "--qrels", "q", "--errors", "report.html")
    assert code == 2
    assert "--errors explains a model" in err
    assert not (tmp_path / "report.html").exists()


@needs_chromium
def test_the_page_lists_mistakes_by_kind_and_filters_them(bm25, tmp_path):
    texts = [(f"{left} {own}", right) for (left, right), own in zip(KINDS.values(), WORDS[10:], strict=False)]
    rows = [row for left, right in texts for row in wrong_about(left, right)]
    script = """
    const texts = (part, what) => [...part.querySelectorAll(what)].map((each) => each.textContent);
    const listed = () => [...document.querySelectorAll('nav section')].map((part) => texts(part, 'h2, [dir=auto]'));
    const all = listed();
    const chips = texts(document, '.filters .chip');
    document.querySelector('[data-kind="number"]').click();
    const number = listed();
    document.querySelector('.pick').click();
    dispatchEvent(new HashChangeEvent('hashchange'));
    return {all, chips, number, focus: document.activeElement.textContent,
        shown: texts(document, '.role'),
        current: document.querySelector('[aria-current="true"]').textContent}"""
    seen = found(report("Mistakes", mistakes(bm25, table(*rows, *USUAL), kind="ranking")), script, tmp_path)
    assert sum(len(group) - 1 for group in seen["all"]) == len(KINDS)
    assert {"all 6", "number 1", "rare word 1", "long text 1"} < set(seen["chips"])
    assert seen["number"] == [["number", f"bama delo 12 {WORDS[12]}"]]
    assert seen["shown"] == ["Ranked first, and wrong", "The right answer, ranked 3"]
    assert seen["current"].startswith("bama delo 12")


@needs_chromium
def test_a_page_of_no_mistakes_says_so(tmp_path):
    script = "return document.getElementById('hint').textContent"
    assert found(report("Mistakes", []), script, tmp_path) == "There is none."
