"""Words are counted by text, for texts of any length."""

import tracemalloc

import numpy as np

from pairlight.data.statistics import document_frequency, words_of
from pairlight.text.tokenizer import TokenizedTexts

VOCAB = 30


def texts_of(lengths) -> TokenizedTexts:
    start = np.concatenate([[0], np.cumsum(lengths)])
    return TokenizedTexts(np.random.default_rng(0).integers(0, VOCAB + 4, start[-1]).astype(np.int32), start, 0)


def test_words_are_in_the_order_of_the_numbers_with_their_texts():
    texts, numbers = texts_of([3, 1, 0, 5, 2]), np.array([3, 0, 3, 2, 4], np.int32)
    own = [texts.ids[texts.start[n] : texts.start[n + 1]].tolist() for n in numbers]
    owner, words = words_of(texts, numbers)
    assert words.tolist() == [word for text in own for word in text]
    assert owner.tolist() == [position for position, text in enumerate(own) for _ in text]


def test_a_document_counts_once_for_each_known_word_in_it():
    texts, numbers = texts_of([7, 1, 12, 5]), np.array([2, 0, 3])
    contained = [set(texts.ids[texts.start[n] : texts.start[n + 1]].tolist()) for n in numbers]
    expected = [sum(word in text for text in contained) for word in range(VOCAB)]
    assert document_frequency(texts, numbers, VOCAB).tolist() == [*expected, 0]


def test_one_long_text_among_short_ones_needs_only_memory_for_its_words():
    texts = texts_of([5] * 20_000 + [5000])
    tracemalloc.start()
    document_frequency(texts, np.arange(len(texts)), VOCAB)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(texts.ids)  # bytes; a padded array would have 100 million elements


def test_document_frequency_counts_texts_not_occurrences():
    texts = [[5, 6, 7], [8], [9, 5], [5, 5, 5, 40]]
    tokenized = TokenizedTexts(np.concatenate(texts).astype(np.int32), np.cumsum([0, *map(len, texts)]), 0)
    counts = document_frequency(tokenized, np.array([0, 2, 3]), 10)
    assert counts[[5, 9, 8, 10]].tolist() == [3, 1, 0, 0]
