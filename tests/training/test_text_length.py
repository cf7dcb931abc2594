"""A model reads more of long texts, unless it is told how much to read."""

import pytest

from pairlight import Matcher
from pairlight.data.pairs import Pairs
from pairlight.text.inputs import WORDS
from pairlight.text.tokenizer import Tokenizer
from pairlight.text.vocabulary import fit_tokenizer
from pairlight.training.text_length import LONGEST, SAMPLE, choose_max_length
from toy_pairs import overlap

QUICK = {"epochs": 1, "vectors": "none", "init": None, "baseline": False, "progress": False}


def pairs_of(right_lengths, left_length=3):
    left = [" ".join(f"q{i}" for _ in range(left_length)) for i in range(len(right_lengths))]
    right = [" ".join([f"d{i}"] * length) for i, length in enumerate(right_lengths)]
    return Pairs.of(left, right, [1.0] * len(left))


def chosen(pairs, usual=50):
    tokenizer = fit_tokenizer(pairs.texts, WORDS, min_count=1)
    assert isinstance(tokenizer, Tokenizer)
    return choose_max_length(tokenizer, pairs, usual)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([50] * 100, 50),
        ([50] * 90 + [51] * 10, 50),  # a tenth may be truncated
        ([50] * 89 + [80] * 11, 80),
        ([50] * 80 + [80] * 18 + [200] * 2, 80),  # enough for most of them
        ([50] * 80 + [1000] * 20, LONGEST),
        ([10] * (3 * SAMPLE), 50),
    ],
)
def test_the_length_is_that_of_most_texts(lengths, expected):
    assert chosen(pairs_of(lengths)) == expected


def test_either_side_may_be_long_and_a_longer_length_is_kept():
    assert chosen(pairs_of([3] * 50, left_length=70)) == 70
    assert chosen(pairs_of([300] * 50), usual=1000) == 1000


def long_texts():
    pairs = overlap(12, seed=0)
    texts = [
        pairs.texts[i] + " nemo" * 80 if i in set(pairs.right) else pairs.texts[i] for i in range(len(pairs.texts))
    ]
    return Pairs.of([texts[i] for i in pairs.left], [texts[i] for i in pairs.right], pairs.labels)


@pytest.mark.filterwarnings("ignore:1 of 60 texts")
@pytest.mark.parametrize("model", ["mv-lstm", "late-interaction"])
def test_long_texts_are_read_unless_max_length_is_given(model, capsys):
    pairs = long_texts()
    options = {name: value for name, value in QUICK.items() if model == "mv-lstm" or name != "vectors"}
    matcher = Matcher(model).fit(pairs, pairs, **options | {"progress": True})
    assert 84 <= matcher.scorer.max_length <= LONGEST
    assert f"{matcher.scorer.max_length} words of each are read" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="more than 20 words"):
        assert Matcher(model).fit(pairs, pairs, max_length=20, **options).scorer.max_length == 20


def test_the_forms_of_the_papers_have_a_fixed_length():
    pairs = long_texts()
    with pytest.warns(UserWarning, match="more than 50 words"):
        matcher = Matcher("mv-lstm", hidden=4, k=2, dim=4, evidence=False).fit(pairs, pairs, **QUICK)
    assert matcher.scorer.max_length == 50


def test_a_model_that_is_continued_reads_as_much_as_before(tmp_path):
    pairs = overlap(12, seed=0)
    Matcher("mv-lstm").fit(pairs, pairs, **QUICK | {"max_length": 70}).save(tmp_path / "first")
    again = Matcher("mv-lstm").fit(pairs, pairs, **QUICK | {"init": tmp_path / "first"})
    assert again.scorer.max_length == 70
