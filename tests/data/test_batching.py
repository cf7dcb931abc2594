import numpy as np

from pairlight.data.batching import by_length, gather, shuffled
from pairlight.data.statistics import document_frequency
from pairlight.text.tokenizer import TokenizedTexts

TEXTS = [[5, 6, 7], [8], [9, 5], [5, 5, 5, 40]]
ENCODED = TokenizedTexts(np.concatenate(TEXTS).astype(np.int32), np.cumsum([0, *map(len, TEXTS)]), 0)


def test_texts_are_cut_out_in_the_order_asked_for():
    rows = gather(ENCODED, [2, 0, 2])
    assert rows.ids.tolist() == [[9, 5, 0], [5, 6, 7], [9, 5, 0]]
    assert rows.mask.tolist() == [[True, True, False], [True] * 3, [True, True, False]]


def test_batches_for_scoring_hold_every_item_once_shortest_first():
    width = np.array([9, 1, 5, 5, 2])
    assert [b.tolist() for b in by_length(width, 2)] == [[1, 4], [2, 3], [0]]


def test_batches_for_training_hold_every_item_once_and_like_widths_together():
    width = np.random.default_rng(0).integers(1, 100, 1000)
    batches = shuffled(width, 10, np.random.default_rng(1))
    assert sorted(np.concatenate(batches)) == list(range(1000))
    spread = np.mean([np.ptp(width[b]) for b in batches])
    assert spread < 10
    again = shuffled(width, 10, np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))


def test_document_frequency_counts_texts_not_occurrences():
    df = document_frequency(ENCODED, np.array([0, 2, 3]), 10)
    assert df[5] == 3
    assert df[9] == 1
    assert df[8] == 0
    assert df[10] == 0
