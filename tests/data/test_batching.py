"""Batches contain every text once, padded, with texts of similar length together."""

import numpy as np

from pairlight.data.batching import batches_by_length, gather, shuffled_batches
from pairlight.text.tokenizer import TokenizedTexts

TEXTS = [[5, 6, 7], [8], [9, 5], [5, 5, 5, 40]]
TOKENIZED = TokenizedTexts(np.concatenate(TEXTS).astype(np.int32), np.cumsum([0, *map(len, TEXTS)]), 0)


def test_texts_are_padded_in_the_order_of_the_numbers():
    batch = gather(TOKENIZED, [2, 0, 2])
    assert batch.ids.tolist() == [[9, 5, 0], [5, 6, 7], [9, 5, 0]]
    assert batch.mask.tolist() == [[True, True, False], [True] * 3, [True, True, False]]
    assert batch.joins is None


def test_merge_positions_are_padded_like_the_ids():
    joins = np.array([1, 0, -1, -1, 0, -1, -1, -1, -1, -1], np.int32)
    batch = gather(TokenizedTexts(TOKENIZED.ids, TOKENIZED.start, 0, joins=joins), [2, 0])
    assert batch.joins is not None
    assert batch.joins.tolist() == [[0, -1, -1], [1, 0, -1]]


def test_batches_for_scoring_contain_every_item_once_shortest_first():
    lengths = np.array([9, 1, 5, 5, 2])
    assert [batch.tolist() for batch in batches_by_length(lengths, 2)] == [[1, 4], [2, 3], [0]]


def test_batches_for_training_contain_every_item_once_with_similar_lengths():
    lengths = np.random.default_rng(0).integers(1, 100, 1000)
    batches = shuffled_batches(lengths, 10, np.random.default_rng(1))
    assert sorted(np.concatenate(batches)) == list(range(1000))
    assert np.mean([np.ptp(lengths[batch]) for batch in batches]) < 10
    again = shuffled_batches(lengths, 10, np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))
