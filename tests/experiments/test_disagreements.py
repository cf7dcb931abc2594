"""Two models that disagree are shown where only one of them is right, by the explanations of both."""

import json

import numpy as np
import pytest

from pairlight import Matcher
from pairlight.data.pairs import Pairs
from pairlight.experiments.disagreements import Opinion, disagreement, write_pages
from toy_pairs import overlap

LISTS = overlap(40, seed=1)
# Single pairs: every left text stands once.
ALONE = Pairs.of(
    [f"{word} one" for word in "abcdefgh"], [f"{word} two" for word in "abcdxyzw"], [1, 1, 1, 0, 0, 0, 0, 1]
)


@pytest.fixture(scope="module")
def bm25() -> Matcher:
    return Matcher("bm25").fit(overlap(20, seed=0), progress=False)


@pytest.fixture(scope="module")
def guess() -> Matcher:
    return Matcher("random", seed=3).fit(overlap(20, seed=0), progress=False)


def first_is_right(matcher: Matcher, pairs: Pairs) -> np.ndarray:
    return matcher.evaluate(pairs).per_list["P@1"] == 1


def test_the_lists_that_only_one_model_gets_right_are_counted(bm25, guess):
    found = disagreement(Opinion(bm25, LISTS), Opinion(guess, LISTS))
    right, guessed = first_is_right(bm25, LISTS), first_is_right(guess, LISTS)
    assert found.only == ((right & ~guessed).sum(), (guessed & ~right).sum())
    assert found.only[0] > 5


def test_a_list_is_shown_by_the_answers_that_either_model_ranks_first(bm25, guess):
    found = disagreement(Opinion(bm25, LISTS), Opinion(guess, LISTS), most=2)
    assert len(found.cases) == 2
    for case in found.cases:
        assert [each.model for each in case.explanations] == ["bm25", "random"] * 2
        right, _, wrong, _ = case.explanations
        rows = [row for row in range(len(LISTS)) if LISTS.texts[LISTS.left[row]] == right.left.text]
        label = {LISTS.texts[LISTS.right[row]]: LISTS.labels[row] for row in rows}
        assert label[right.right.text] == 1
        assert label[wrong.right.text] == 0
        assert case.roles[0] == "bm25 ranks this right answer 1 of 4"
        assert case.roles[3] == "random ranks this wrong answer 1 of 4"
        assert case.kinds == ("only bm25 is right",)
        assert case.about.startswith("Only bm25 is right. random: the right answer is ranked")


def test_the_list_where_the_other_model_is_worst_off_comes_first(bm25, guess):
    found = disagreement(Opinion(bm25, LISTS), Opinion(guess, LISTS))
    places = [int(case.roles[1].split(" answer ")[1].split()[0]) for case in found.cases]
    assert places == sorted(places, reverse=True)
    assert places[0] == 4


def test_single_pairs_are_right_on_their_side_of_the_threshold(bm25, guess):
    found = disagreement(Opinion(bm25, ALONE), Opinion(guess, ALONE), most=10)
    assert len(found.cases) == sum(found.only) > 0
    for case in found.cases:
        assert [each.model for each in case.explanations] == ["bm25", "random"]
        assert "its threshold" in case.roles[0]


def test_pages_are_made_once_and_only_of_models_that_are_saved(bm25, guess, tmp_path):
    models = [tmp_path / "models" / name for name in ("best", "other", "gone")]
    bm25.save(models[0])
    guess.save(models[1])
    shares = []
    told = write_pages(tmp_path / "pages", models, LISTS, shares.append)
    assert shares == [0.5, 1.0]
    assert told[1] is None
    assert told[0]["with"] == "bm25"
    page = tmp_path / "pages" / told[0]["page"]
    assert "Where bm25 and random disagree" in page.read_text("utf-8")
    page.write_text("kept")
    assert write_pages(tmp_path / "pages", models, LISTS, shares.append) == told
    assert page.read_text() == "kept"
    assert sorted(file.suffix for file in page.parent.iterdir()) == [".html", ".json"]
    assert json.loads(page.with_suffix(".json").read_text())["only"] == list(told[0]["only"])
