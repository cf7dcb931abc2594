"""A similarity of exactly 1 means identical words and nothing else."""

import math

import pytest
import torch

from pairlight.layers.types import Seq
from pairlight.layers.word_cosine import WordCosine

VOCAB = 10


def seq(ids: list[int], poison: float = 0.0, extra: int = 0) -> Seq:
    """Words with random vectors; out-of-vocabulary words share one, and so do words 8 and 9."""
    table = torch.randn(VOCAB, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    table[9] = table[8]
    x = torch.full((1, len(ids) + extra, 4), poison, dtype=torch.float64)
    x[0, : len(ids)] = table[[min(i, 1) if i >= VOCAB else i for i in ids]]
    mask = torch.arange(len(ids) + extra)[None] < len(ids)
    return Seq(x, mask, torch.tensor([[*ids, *[3] * extra]]))


def test_identical_words_have_similarity_one_even_if_out_of_vocabulary_or_with_a_zero_vector():
    u = seq([2, 8, 12])
    zero = u.with_x(torch.zeros_like(u.x))
    assert WordCosine(VOCAB)(u, zero).x[0, 0].diagonal().tolist() == [1, 1, 1]


def test_out_of_vocabulary_words_match_only_themselves():
    s = WordCosine(VOCAB)(seq([12, 13, 2]), seq([13, 3])).x[0, 0]
    assert s[:2].tolist() == [[0, 0], [1, 0]]
    assert s[2, 0] == 0
    assert s[2, 1] != 0


def test_different_words_with_the_same_vector_have_a_similarity_just_below_one():
    s = float(WordCosine(VOCAB)(seq([8]), seq([9])).x)
    assert 1 - 2e-6 < s < 1


def test_other_words_have_their_cosine():
    u, v = seq([2, 3]), seq([4])
    expected = torch.nn.functional.cosine_similarity(u.x[0], v.x[0])
    torch.testing.assert_close(WordCosine(VOCAB)(u, v).x[0, 0, :, 0], expected)


@pytest.mark.parametrize("poison", [1e3, math.nan])
def test_padding_is_never_read(poison):
    s = WordCosine(VOCAB)(seq([2, 3], poison, extra=2), seq([3, 12, 4], poison, extra=1))
    bare = WordCosine(VOCAB)(seq([2, 3]), seq([3, 12, 4]))
    torch.testing.assert_close(s.x[..., :2, :3], bare.x)
    assert s.x[..., 2:, :].abs().sum() + s.x[..., 3:].abs().sum() == 0
    assert s.mask.sum() == 6
