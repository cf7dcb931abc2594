"""The BM25 layer equals its formula, ignores padding, and adds up the scores of single words."""

import numpy as np
import pytest
import torch

from pairlight.layers.bm25 import BM25Score
from pairlight.layers.types import Tokens

VOCAB = 6


def tokens(texts: list[list[int]], extra: int = 0, junk: int = 0) -> Tokens:
    width = max(map(len, texts)) + extra
    ids = torch.tensor([[*text, *[junk] * (width - len(text))] for text in texts])
    return Tokens(ids, torch.arange(width) < torch.tensor([len(text) for text in texts])[:, None])


@pytest.fixture
def score() -> BM25Score:
    layer = BM25Score(VOCAB, 1.2, 0.75)
    layer.load_state_dict({"idf": np.arange(1.0, VOCAB + 2), "average_length": np.float64(2.5)})
    return layer


LEFT, RIGHT = [[2, 3, 2], [9, 4]], [[3, 2, 2, 5], [9]]


def test_the_score_equals_its_formula(score):
    saturation = [1.2 * (0.25 + 0.75 * n / 2.5) for n in (4, 1)]
    first = 3 * 2 / (2 + saturation[0]) * 2 + 4 * 1 / (1 + saturation[0])
    second = 7 * 1 / (1 + saturation[1])  # an out-of-vocabulary word has the last idf
    torch.testing.assert_close(score(tokens(LEFT), tokens(RIGHT)), torch.tensor([first, second]))


def test_the_scores_of_the_words_add_up_to_the_score(score):
    left, right = tokens(LEFT, extra=1), tokens(RIGHT)
    words = score.term_scores(left, right)
    torch.testing.assert_close(words.sum(1), score(left, right))
    assert (words[~left.mask] == 0).all()


@pytest.mark.parametrize("junk", [2, 9])
def test_ids_under_padding_are_ignored(score, junk):
    padded = score(tokens(LEFT, extra=2, junk=junk), tokens(RIGHT, extra=3, junk=junk))
    torch.testing.assert_close(padded, score(tokens(LEFT), tokens(RIGHT)))


def test_one_left_text_may_be_paired_with_several_right_texts(score):
    torch.testing.assert_close(
        score(tokens(LEFT), tokens([*RIGHT, *RIGHT])), score(tokens([*LEFT, *LEFT]), tokens([*RIGHT, *RIGHT]))
    )
