"""Mined negatives are never positives, are as many as requested, and are similar where that is requested."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairlight.core.errors import InputError
from pairlight.data.negatives import MINING_METHODS, _candidates, _cosine, mine_negatives
from pairlight.data.pairs import Pairs
from pairlight.text.tokenizer import WordSplitter

Row = tuple[str, str, float]


def rows_of(pairs: Pairs) -> list[Row]:
    assert pairs.label is not None
    return [
        (pairs.texts[left], pairs.texts[right], float(label))
        for left, right, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


def table(count: int = 30) -> Pairs:
    """Positive pairs whose right texts are about one of three subjects and share one word with all others."""
    subjects = ["cats purr softly", "stars shine bright", "ships sail far"]
    return Pairs.of(
        [f"question {i}" for i in range(count)],
        [f"{subjects[i % 3]} as number{i}" for i in range(count)],
        [1.0] * count,
        right_id=[f"R{i}" for i in range(count)],
    )


@pytest.mark.parametrize("method", MINING_METHODS)
def test_every_positive_is_followed_by_its_negatives(method: str) -> None:
    pairs = table()
    mined = rows_of(mine_negatives(pairs, method, negatives_per_positive=4))
    assert [label for *_, label in mined] == [1, 0, 0, 0, 0] * 30
    assert mined[::5] == rows_of(pairs)
    for at in range(0, len(mined), 5):
        block = mined[at : at + 5]
        assert len({left for left, *_ in block}) == 1
        assert len({right for _, right, _ in block}) == 5


@pytest.mark.parametrize("method", ["bm25", "cosine"])
def test_similar_texts_are_drawn_from_the_top_results(method: str) -> None:
    for left, right, label in rows_of(mine_negatives(table(), method, negatives_per_positive=4, top=10)):
        assert label == 1 or int(left.split()[1]) % 3 == ["cats", "stars", "ships"].index(right.split()[0])


def test_random_negatives_are_drawn_from_all_texts() -> None:
    mined = rows_of(mine_negatives(table(), "random"))
    assert {right.split()[0] for left, right, _ in mined if left == "question 0"} == {"cats", "stars", "ships"}


@pytest.mark.parametrize("method", MINING_METHODS)
def test_the_seed_determines_the_negatives(method: str) -> None:
    assert rows_of(mine_negatives(table(), method, seed=3)) == rows_of(mine_negatives(table(), method, seed=3))
    assert rows_of(mine_negatives(table(), method, seed=3)) != rows_of(mine_negatives(table(), method, seed=4))


@pytest.mark.parametrize("method", MINING_METHODS)
def test_neither_a_positive_nor_a_duplicate_of_one_is_ever_drawn(method: str) -> None:
    rows = [
        ("why a", "same answer one", 1, "1"),
        ("why a", "same answer two", 1, "1"),
        ("WHY  A", "same answer three", 1, "2"),  # a duplicate of the left text, in another list
        ("why b", "Same  ANSWER one ", 1, "3"),
        ("why c", "same answer four", 1, "4"),
        ("why d", "WHY A", 1, "5"),  # a duplicate of a left text
        ("why e", "same answer five a", 0, "6"),
    ]
    left, right, label, ids = zip(*rows, strict=True)
    mined = rows_of(mine_negatives(Pairs.of(left, right, label, ids), method, negatives_per_positive=9))

    def negatives_of(query: str) -> set[str]:
        return {" ".join(r.split()).lower() for a, r, n in mined if a == query and n == 0}

    positives_of_a = {"same answer one", "same answer two", "same answer three"}
    others = {"same answer four", "same answer five a"}
    assert negatives_of("why a") == others
    assert negatives_of("WHY  A") == others
    of_b = negatives_of("why b")
    assert of_b == {*others, "same answer two", "same answer three"} | (of_b & {"why a"})
    assert positives_of_a | {"same answer five a"} <= negatives_of("why c")
    assert "why e" not in {a for a, *_ in mined}
    assert sum(n for *_, n in mined) == 6


def test_a_text_is_drawn_once_for_a_list_with_several_positives() -> None:
    pairs = Pairs.of(["a", "a", "b", "c", "d"], ["r one", "r two", "r three", "r four", "r five"], [1, 1, 1, 1, 1])
    mined = rows_of(mine_negatives(pairs, "random", negatives_per_positive=2))
    drawn = [right for left, right, label in mined if left == "a" and label == 0]
    assert sorted(drawn) == ["r five", "r four", "r three"]


def test_ids_belong_to_their_texts() -> None:
    pairs = table()
    assert pairs.right_id is not None
    id_of = {pairs.texts[text]: name for text, name in zip(pairs.right, pairs.right_id, strict=True)}
    mined = mine_negatives(pairs, "random")
    assert mined.left_id is None
    assert mined.right_id == [id_of[mined.texts[text]] for text in mined.right]
    pairs = Pairs.of(["a", "a", "b"], ["x", "y", "z"], [1, 1, 1], ["1", "2", "3"])
    with_left = mine_negatives(pairs, "random", negatives_per_positive=1)
    assert with_left.left_id == ["1", "1", "2", "2", "3", "3"]
    assert with_left.lists == 3


def test_the_pairs_of_a_list_become_adjacent() -> None:
    pairs = Pairs.of(["a", "b", "a"], ["x", "y", "z"], [1, 1, 1])
    mined = rows_of(mine_negatives(pairs, "random", negatives_per_positive=1))
    assert [left for left, *_ in mined] == ["a", "a", "a", "b", "b"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.text("ab A猫", min_size=1, max_size=3)] * 2, st.sampled_from([0.0, 1.0, 2.0])), min_size=1),
    st.sampled_from(MINING_METHODS),
)
def test_no_known_positive_is_drawn_as_a_negative(rows: list[Row], method: str) -> None:
    left, right, label = zip(*rows, strict=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mined = rows_of(mine_negatives(Pairs.of(left, right, label), method, negatives_per_positive=2))
    except InputError:
        return

    def key(text: str) -> str:
        return " ".join(text.split()).casefold()

    known = {(key(a), key(b)) for a, b, n in rows if n > 0}
    once = {(a, key(b)): (a, b) for a, b, n in reversed(rows) if n > 0}
    found = {a for a, _, n in mined if n == 0}
    assert sorted((a, b) for a, b, n in mined if n == 1) == sorted(pair for pair in once.values() if pair[0] in found)
    for a, b, n in mined:
        assert n == 1 or ((key(a), key(b)) not in known and key(a) != key(b) and b in right)


def test_cosine_equals_that_of_tf_idf_vectors_by_scikit_learn() -> None:
    transformer = pytest.importorskip("sklearn.feature_extraction.text").TfidfTransformer(smooth_idf=False)
    texts = ["a b b c", "b c d", "e", "...", "a a a e 猫", "c"]
    words = WordSplitter().words
    vocab = sorted({word for text in texts for word in words(text)})
    counts = np.array([[words(text).count(word) for word in vocab] for text in texts])
    weights = transformer.fit_transform(counts).toarray()
    scores = np.stack([_cosine(texts)(i) for i in range(len(texts))])
    np.testing.assert_allclose(scores, weights @ weights.T, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", ["bm25", "cosine"])
def test_punctuation_does_not_make_texts_similar(method: str) -> None:
    (found,) = _candidates(method, ["cat, dog!", "emu, yak!", "a dog"], np.array([0]), 10)
    assert found.tolist() == [0, 2]


def test_chinese_texts_are_similar_by_their_characters() -> None:
    pytest.importorskip("bm25s")
    texts = ["我喜欢小猫", "小猫喜欢鱼", "天上有星星", "星星很明亮", "🐈", "🐕🐕"]
    with pytest.warns(UserWarning, match="No negative was found for 2 of 6 ranking lists; they are left out"):
        mined = rows_of(mine_negatives(Pairs.of([f"{i}" for i in range(6)], texts, [1.0] * 6), "bm25"))
    assert {left for left, *_ in mined} == {"0", "1", "2", "3"}
    assert {(left, right) for left, right, label in mined if label == 0} == {
        ("0", texts[1]),
        ("1", texts[0]),
        ("2", texts[3]),
        ("3", texts[2]),
    }


def test_progress_increases_to_one() -> None:
    reported: list[float] = []
    mine_negatives(table(), "bm25", progress=reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == 1.0


@pytest.mark.parametrize("method", MINING_METHODS)
def test_an_error_is_raised_if_no_negative_can_be_found(method: str) -> None:
    with pytest.raises(InputError, match="No negative was found for any of 2 positive pairs"):
        mine_negatives(Pairs.of(["a", "a"], ["?!", "!?"], [1, 1]), method)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(InputError, match=r"No mining method named 'bm52'\. Did you mean 'bm25'"):
        mine_negatives(table(), "bm52")
    with pytest.raises(InputError, match="negatives_per_positive=0 and top=5 must be at least 1"):
        mine_negatives(table(), "random", negatives_per_positive=0, top=5)
    with pytest.raises(InputError, match="have no labels"):
        mine_negatives(Pairs.of(["a"], ["b"]), "random")
    with pytest.raises(InputError, match="No label is above 0"):
        mine_negatives(Pairs.of(["a"], ["b"], [0]), "random")


def test_right_texts_with_the_same_id_are_duplicates() -> None:
    rows = [(f"p{p}", f"work {k}{'.' * (p % 2)}", f"c{k}") for p in range(5) for k in range(5) if k != p]
    left, right, ids = zip(*rows, strict=True)
    mined = mine_negatives(Pairs.of(left, right, [1.0] * len(rows), left, ids), "random", negatives_per_positive=2)
    positives = {(a, name) for a, _, name in rows}
    negatives = {
        (mined.left_id[row], mined.right_id[row])  # type: ignore[index]
        for row in np.flatnonzero(mined.labels == 0)
    }
    assert negatives
    assert not positives & negatives


def test_a_pair_that_occurs_twice_is_used_once() -> None:
    mined = mine_negatives(Pairs.of(["q", "q", "r"], ["a b", "A  b", "a c"], [1.0] * 3), "bm25")
    assert rows_of(mined) == [("q", "a b", 1.0), ("q", "a c", 0.0), ("r", "a c", 1.0), ("r", "a b", 0.0)]


def test_ties_at_the_cutoff_are_broken_by_position() -> None:
    texts = ["x", *(f"x y{n}" for n in range(50))]
    (found, *_) = _candidates("bm25", texts, np.array([0]), 10)
    assert found.tolist() == list(range(10))


def test_positives_beyond_the_limit_are_not_drawn_as_negatives():
    left = [f"question {n}" for n in range(60) for _ in range(3)]
    right = [f"answer word{(n + step) % 20}" for n in range(60) for step in (0, 1, 2)]
    pairs = Pairs.of(left, right, [1.0] * len(left))
    positives = set(zip(left, right, strict=True))
    mined = rows_of(mine_negatives(pairs, "bm25", limit=40))
    assert sum(label for *_, label in mined) == 40
    assert not [row for row in mined if row[2] == 0 and row[:2] in positives]
    assert rows_of(mine_negatives(pairs, "bm25", limit=1000)) == rows_of(mine_negatives(pairs, "bm25"))


def test_ids_that_are_numbers_within_a_list_do_not_identify_texts():
    rows = [(f"q{n}", f"text {n} {place}", float(place == 0), str(place)) for n in range(20) for place in range(3)]
    left, right, label, ids = map(list, zip(*rows, strict=True))
    with pytest.warns(UserWarning, match=r"^3 different right_ids belong to 60 different texts"):
        mined = mine_negatives(Pairs.of(left, right, label, left, ids), "random")
    assert len(mined) == 100
    assert rows_of(mined) == rows_of(mine_negatives(Pairs.of(left, right, label, left), "random"))
