"""Wrong texts are wrong, as many as asked for, and of the kind asked for."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairlight.data.negatives import WAYS, _found, mine, words
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError

Row = tuple[str, str, float]


def rows_of(pairs: Pairs) -> list[Row]:
    assert pairs.label is not None
    return [
        (pairs.texts[left], pairs.texts[right], float(label))
        for left, right, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


def table(count: int = 30) -> Pairs:
    """Every right text speaks of one of three matters, and shares a word with all others."""
    matter = ["cats purr softly", "stars shine bright", "ships sail far"]
    return Pairs.of(
        [f"question {i}" for i in range(count)],
        [f"{matter[i % 3]} as number{i}" for i in range(count)],
        [1.0] * count,
        right_id=[f"R{i}" for i in range(count)],
    )


@pytest.mark.parametrize("how", WAYS)
def test_every_positive_is_followed_by_its_wrong_texts(how: str) -> None:
    pairs = table()
    mined = rows_of(mine(pairs, how, negatives_per_positive=4))
    assert [label for *_, label in mined] == [1, 0, 0, 0, 0] * 30
    assert mined[::5] == rows_of(pairs)
    for at in range(0, len(mined), 5):
        block = mined[at : at + 5]
        assert len({left for left, *_ in block}) == 1
        assert len({right for _, right, _ in block}) == 5


@pytest.mark.parametrize("how", ["bm25", "cosine"])
def test_like_texts_are_drawn_from_the_top(how: str) -> None:
    for left, right, label in rows_of(mine(table(), how, negatives_per_positive=4, top=10)):
        assert label == 1 or int(left.split()[1]) % 3 == ["cats", "stars", "ships"].index(right.split()[0])


def test_random_texts_are_drawn_from_all() -> None:
    drawn = {right.split()[0] for left, right, label in rows_of(mine(table(), "random")) if left == "question 0"}
    assert drawn == {"cats", "stars", "ships"}


@pytest.mark.parametrize("how", WAYS)
def test_the_seed_decides(how: str) -> None:
    assert rows_of(mine(table(), how, seed=3)) == rows_of(mine(table(), how, seed=3))
    assert rows_of(mine(table(), how, seed=3)) != rows_of(mine(table(), how, seed=4))


@pytest.mark.parametrize("how", WAYS)
def test_no_right_text_nor_a_copy_is_ever_drawn(how: str) -> None:
    rows = [
        ("why a", "same answer one", 1, "1"),
        ("why a", "same answer two", 1, "1"),
        ("WHY  A", "same answer three", 1, "2"),  # a copy of the left text, in a list of its own
        ("why b", "Same  ANSWER one ", 1, "3"),
        ("why c", "same answer four", 1, "4"),
        ("why d", "WHY A", 1, "5"),  # a copy of a left text
        ("why e", "same answer five a", 0, "6"),
    ]
    left, right, label, ids = zip(*rows, strict=True)
    mined = rows_of(mine(Pairs.of(left, right, label, ids), how, negatives_per_positive=9))

    def drawn(asked: str) -> set[str]:
        return {" ".join(r.split()).lower() for a, r, n in mined if a == asked and n == 0}

    right_for_a = {"same answer one", "same answer two", "same answer three"}
    others = {"same answer four", "same answer five a"}
    assert drawn("why a") == others
    assert drawn("WHY  A") == others
    assert drawn("why b") == {*others, "same answer two", "same answer three"} | (drawn("why b") & {"why a"})
    assert right_for_a | {"same answer five a"} <= drawn("why c")
    assert "why e" not in {a for a, *_ in mined}
    assert sum(n for *_, n in mined) == 6


def test_a_text_is_drawn_once_for_a_list_with_several_right_ones() -> None:
    pairs = Pairs.of(["a", "a", "b", "c", "d"], ["r one", "r two", "r three", "r four", "r five"], [1, 1, 1, 1, 1])
    drawn = [right for left, right, label in rows_of(mine(pairs, "random", negatives_per_positive=2)) if left == "a" and label == 0]
    assert sorted(drawn) == ["r five", "r four", "r three"]


def test_ids_go_with_their_texts() -> None:
    pairs = table()
    assert pairs.right_id is not None
    id_of = {pairs.texts[text]: name for text, name in zip(pairs.right, pairs.right_id, strict=True)}
    mined = mine(pairs, "random")
    assert mined.left_id is None
    assert mined.right_id == [id_of[mined.texts[text]] for text in mined.right]
    with_left = mine(Pairs.of(["a", "a", "b"], ["x", "y", "z"], [1, 1, 1], ["1", "2", "3"]), "random", negatives_per_positive=1)
    assert with_left.left_id == ["1", "1", "2", "2", "3", "3"]
    assert with_left.lists == 3


def test_lists_that_lie_apart_come_together() -> None:
    pairs = Pairs.of(["a", "b", "a"], ["x", "y", "z"], [1, 1, 1])
    assert [left for left, *_ in rows_of(mine(pairs, "random", negatives_per_positive=1))] == ["a", "a", "a", "b", "b"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.text("ab A猫", min_size=1, max_size=3)] * 2, st.sampled_from([0.0, 1.0, 2.0])), min_size=1),
    st.sampled_from(WAYS),
)
def test_what_is_drawn_is_never_known_to_be_right(rows: list[Row], how: str) -> None:
    left, right, label = zip(*rows, strict=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mined = rows_of(mine(Pairs.of(left, right, label), how, negatives_per_positive=2))
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


def test_cosine_is_that_of_tf_idf() -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    from pairlight.data.negatives import _cosine

    texts = ["a b b c", "b c d", "e", "...", "a a a e 猫", "c"]
    vocab = sorted({word for text in texts for word in words(text)})
    counts = np.array([[words(text).count(word) for word in vocab] for text in texts])
    weights = TfidfTransformer(smooth_idf=False).fit_transform(counts).toarray()
    scores = np.stack([_cosine(texts)(i) for i in range(len(texts))])
    np.testing.assert_allclose(scores, weights @ weights.T, rtol=1e-5, atol=1e-7)


def test_words_are_lower_case_and_chinese_signs_stand_alone() -> None:
    assert words("Don't STOP: été 42, 猫和dog🐈") == ["don", "t", "stop", "été", "42", "猫", "和", "dog"]


def test_chinese_texts_are_found_by_their_signs() -> None:
    texts = ["我喜欢小猫", "小猫喜欢鱼", "天上有星星", "星星很明亮", "🐈", "🐕🐕"]
    with pytest.warns(UserWarning, match="2 of 6 lists found no wrong text and are left out"):
        mined = rows_of(mine(Pairs.of([f"{i}" for i in range(6)], texts, [1.0] * 6), "bm25"))
    assert {left for left, *_ in mined} == {"0", "1", "2", "3"}
    assert {(left, right) for left, right, label in mined if label == 0} == {
        ("0", texts[1]),
        ("1", texts[0]),
        ("2", texts[3]),
        ("3", texts[2]),
    }


def test_progress_rises_to_one() -> None:
    told: list[float] = []
    mine(table(), "bm25", progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("how", WAYS)
def test_where_no_wrong_text_can_be_found_that_is_said(how: str) -> None:
    with pytest.raises(InputError, match="No wrong text was found for any of 2 right pairs"):
        mine(Pairs.of(["a", "a"], ["?!", "!?"], [1, 1]), how)


def test_what_cannot_be_mined_is_refused() -> None:
    with pytest.raises(InputError, match="no way to mine named 'hard': the ways are random, bm25, cosine"):
        mine(table(), "hard")
    with pytest.raises(InputError, match="negatives_per_positive=0 and top=5 must be 1 or more"):
        mine(table(), "random", negatives_per_positive=0, top=5)
    with pytest.raises(InputError, match="have no labels"):
        mine(Pairs.of(["a"], ["b"]), "random")
    with pytest.raises(InputError, match="No pair has a label above 0"):
        mine(Pairs.of(["a"], ["b"], [0]), "random")


def test_a_right_text_is_known_by_its_id_too() -> None:
    rows = [(f"p{p}", f"work {k}{'.' * (p % 2)}", f"c{k}") for p in range(5) for k in range(5) if k != p]
    left, right, ids = zip(*rows, strict=True)
    mined = mine(Pairs.of(left, right, [1.0] * len(rows), left, ids), "random", negatives_per_positive=2)
    known = {(a, name) for a, _, name in rows}
    wrong = [
        (mined.left_id[row], mined.right_id[row])
        for row in np.flatnonzero(mined.label == 0)  # type: ignore[index]
    ]
    assert wrong
    assert not known & set(wrong)


def test_a_pair_given_twice_counts_once() -> None:
    mined = mine(Pairs.of(["q", "q", "r"], ["a b", "A  b", "a c"], [1.0] * 3), "bm25")
    assert rows_of(mined) == [("q", "a b", 1.0), ("q", "a c", 0.0), ("r", "a c", 1.0), ("r", "a b", 0.0)]


def test_of_texts_level_with_the_last_the_first_are_drawn_from() -> None:
    texts = ["x", *(f"x y{n}" for n in range(50))]
    (places, *_) = _found("bm25", texts, np.array([0]), 10)
    assert places.tolist() == list(range(10))


def test_right_texts_beyond_the_limit_are_still_known_as_right():
    left = [f"question {n}" for n in range(60) for _ in range(3)]
    right = [f"answer word{(n + step) % 20}" for n in range(60) for step in (0, 1, 2)]
    pairs = Pairs.of(left, right, [1.0] * len(left))
    known = set(zip(left, right, strict=True))
    mined = rows_of(mine(pairs, "bm25", limit=40))
    assert sum(label for *_, label in mined) == 40
    assert not [row for row in mined if row[2] == 0 and row[:2] in known]
    assert rows_of(mine(pairs, "bm25", limit=1000)) == rows_of(mine(pairs, "bm25"))


def test_ids_that_are_numbers_within_a_list_tell_no_texts_apart():
    rows = [(f"q{n}", f"text {n} {place}", float(place == 0), str(place)) for n in range(20) for place in range(3)]
    left, right, label, ids = map(list, zip(*rows, strict=True))
    with pytest.warns(UserWarning, match=r"^3 right_ids name 60 different texts"):
        mined = mine(Pairs.of(left, right, label, left, ids), "random")
    assert len(mined) == 100
    assert rows_of(mined) == rows_of(mine(Pairs.of(left, right, label, left), "random"))


def test_a_word_goes_on_through_its_marks():
    assert words("हिन्दी भाषा, cafe\u0301 don't 你好 A_b") == [
        "हिन्दी",
        "भाषा",
        "cafe\u0301",
        "don",
        "t",
        "你",
        "好",
        "a_b",
    ]
    assert words("Plain text, 12 words.") == ["plain", "text", "12", "words"]
