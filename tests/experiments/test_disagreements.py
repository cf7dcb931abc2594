"""Where two models disagree, examples that only one of them gets right are explained by both."""

import json
from pathlib import Path

import numpy as np
import pytest

from pairlight import Matcher, Pairs
from pairlight.core.errors import InputError
from pairlight.experiments.disagreements import EvaluatedModel, disagreement, write_disagreements
from toy_pairs import overlap

LISTS = overlap(40, seed=1)
# Independent pairs: every left text occurs once.
PAIRS = Pairs.of(
    [f"{word} one" for word in "abcdefgh"], [f"{word} two" for word in "abcdxyzw"], [1, 1, 1, 0, 0, 0, 0, 1]
)


@pytest.fixture(scope="module")
def bm25() -> Matcher:
    return Matcher("bm25").fit(overlap(20, seed=0), progress=False)


@pytest.fixture(scope="module")
def random() -> Matcher:
    return Matcher("random", seed=3).fit(overlap(20, seed=0), progress=False)


def ranks_a_positive_first(matcher: Matcher, pairs: Pairs) -> np.ndarray:
    return matcher.evaluate(pairs).per_list["P@1"] == 1


def test_the_lists_that_only_one_model_gets_right_are_counted(bm25: Matcher, random: Matcher) -> None:
    found = disagreement(EvaluatedModel(bm25, LISTS), EvaluatedModel(random, LISTS))
    one, other = ranks_a_positive_first(bm25, LISTS), ranks_a_positive_first(random, LISTS)
    assert found.counts == ((one & ~other).sum(), (other & ~one).sum())
    assert found.counts[0] > 5


def test_a_list_is_shown_by_the_texts_that_the_models_rank_first(bm25: Matcher, random: Matcher) -> None:
    found = disagreement(EvaluatedModel(bm25, LISTS), EvaluatedModel(random, LISTS), limit=2)
    assert len(found.cases) == 2
    for case in found.cases:
        assert [each.model for each in case.explanations] == ["bm25", "random"] * 2
        positive, _, negative, _ = case.explanations
        rows = [row for row in range(len(LISTS)) if LISTS.texts[LISTS.left[row]] == positive.left.text]
        label = {LISTS.texts[LISTS.right[row]]: LISTS.labels[row] for row in rows}
        assert label[positive.right.text] == 1
        assert label[negative.right.text] == 0
        assert case.roles[0] == "bm25 ranks this positive 1 of 4"
        assert case.roles[3] == "random ranks this negative 1 of 4"
        assert case.categories == ("only bm25 is right",)
        assert case.description.startswith("Only bm25 is right. random: the best positive is ranked")


def test_the_worst_error_of_the_other_model_comes_first(bm25: Matcher, random: Matcher) -> None:
    found = disagreement(EvaluatedModel(bm25, LISTS), EvaluatedModel(random, LISTS))
    ranks = [int(case.roles[1].split(" positive ")[1].split()[0]) for case in found.cases]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] == 4


def test_independent_pairs_are_right_on_the_correct_side_of_the_threshold(bm25: Matcher, random: Matcher) -> None:
    found = disagreement(EvaluatedModel(bm25, PAIRS), EvaluatedModel(random, PAIRS), limit=10)
    assert len(found.cases) == sum(found.counts) > 0
    for case in found.cases:
        assert [each.model for each in case.explanations] == ["bm25", "random"]
        assert "its threshold" in case.roles[0]


WORDS = "abcdefghijkl"
GRADED = Pairs.of(
    [f"{word} one two three" for word in WORDS],
    [
        " ".join([f"{word} one two three".split()[i] if i < n % 5 else f"x{i}" for i in range(4)])
        for n, word in enumerate(WORDS)
    ],
    [n % 5 for n in range(len(WORDS))],
)


def test_graded_pairs_are_counted_for_the_model_with_the_closer_label(random: Matcher) -> None:
    bm25 = Matcher("bm25").fit(GRADED, GRADED, progress=False)
    one, other = EvaluatedModel(bm25, GRADED), EvaluatedModel(random, GRADED)
    found = disagreement(one, other, limit=20)
    gain = np.abs(other.predicted - GRADED.labels) - np.abs(one.predicted - GRADED.labels)
    assert found.counts == ((gain > 0.4).sum(), (gain < -0.4).sum())
    assert found.counts[0] > found.counts[1]
    assert len(found.cases) == sum(found.counts)
    closer = [float(case.description.split("by ")[1][:-1]) for case in found.cases[: found.counts[0]]]
    assert closer == sorted(closer, reverse=True)
    case = found.cases[0]
    assert [each.model for each in case.explanations] == ["bm25", "random"]
    assert case.categories == ("bm25 is closer",)
    assert case.roles[0].startswith("bm25: predicted ")
    with pytest.raises(InputError, match="not graded"):
        _ = EvaluatedModel(bm25, PAIRS).label_gaps


def test_pages_are_written_once_and_only_for_saved_models(bm25: Matcher, random: Matcher, tmp_path: Path) -> None:
    models = [tmp_path / "models" / name for name in ("best", "other", "gone")]
    bm25.save(models[0])
    random.save(models[1])
    shares: list[float] = []
    found = write_disagreements(tmp_path / "pages", models, LISTS, shares.append)
    assert shares == [0.5, 1.0]
    assert found[1] is None
    assert found[0] is not None
    assert found[0].best == "bm25"
    page = tmp_path / "pages" / found[0].page
    assert "Where bm25 and random disagree" in page.read_text("utf-8")
    page.write_text("kept")
    assert write_disagreements(tmp_path / "pages", models, LISTS, shares.append) == found
    assert page.read_text() == "kept"
    assert sorted(file.suffix for file in page.parent.iterdir()) == [".html", ".json"]
    assert json.loads(page.with_suffix(".json").read_text())["only_best"] == found[0].only_best
    page.with_suffix(".json").write_text("{}")
    with pytest.warns(UserWarning, match="has no format number, .* its page is made again"):
        assert write_disagreements(tmp_path / "pages", models, LISTS, shares.append) == found
