"""Topics are found in positive pairs only, and linked by the words they share."""

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.topics import PairTopics, TopicWords, link_topics, topic_overlap
from pairlight.text.tokenizer import TokenizedTexts

VOCAB = 40


def planted(pairs=60, other=None):
    """Positive pairs of one of two topics, each with its own left and right words, then as many negatives.

    The texts of the negatives are `other`, or words of both topics.
    """
    rng = np.random.default_rng(0)
    texts = []
    for pair in range(pairs):
        first = 2 if pair % 2 else 12
        texts.append([*rng.choice(np.arange(first, first + 5), 4), VOCAB + 3])
        texts.append([*rng.choice(np.arange(first + 5, first + 10), 4), 1])
    texts += [other or rng.integers(2, 22, 6).tolist() for _ in range(2 * pairs)]
    start = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    left = np.arange(0, len(texts), 2, dtype=np.int32)
    label = np.repeat(np.array([1, 0], np.float32), pairs)
    tokenized = TokenizedTexts(np.concatenate(texts).astype(np.int32), start, 0)
    return tokenized, Pairs([str(n) for n in range(len(texts))], left, left + 1, left, label)


def fitted(texts, pairs) -> PairTopics:
    return PairTopics(texts, pairs, vocab=VOCAB, passes=10, seed=1)


def sides(words: TopicWords) -> set[tuple[frozenset, frozenset]]:
    return {(frozenset(a.tolist()), frozenset(b.tolist())) for a, b in zip(words.left, words.right, strict=True)}


def test_left_and_right_words_that_occur_together_share_a_topic():
    one, two = (frozenset(range(2, 7)), frozenset(range(7, 12))), (frozenset(range(12, 17)), frozenset(range(17, 22)))
    assert sides(fitted(*planted()).top_words(2, 5)) == {one, two}


def test_negative_pairs_are_ignored():
    ours, theirs = (fitted(*planted(other=other)).top_words(3, 4) for other in (None, [30, 31, 32]))
    np.testing.assert_array_equal(ours.left, theirs.left)
    np.testing.assert_array_equal(ours.right, theirs.right)


def test_the_seed_determines_the_topics():
    a, b = fitted(*planted()).top_words(3, 4), fitted(*planted()).top_words(3, 4)
    np.testing.assert_array_equal(a.left, b.left)
    np.testing.assert_array_equal(a.right, b.right)


def test_out_of_vocabulary_words_are_in_no_topic():
    words = fitted(*planted()).top_words(2, 10)
    assert not np.isin([1, VOCAB + 3], [words.left, words.right]).any()


def test_words_are_padded_with_zeros():
    words = fitted(*planted()).top_words(2, 13)
    assert words.left.shape == (2, 13)
    assert (words.left[:, 10:] == 0).all()
    assert (words.left[:, :10] > 0).all()


def test_topics_need_a_positive_pair():
    texts, pairs = planted()
    none = Pairs(pairs.texts, pairs.left, pairs.right, pairs.group, np.zeros_like(pairs.label))
    with pytest.raises(InputError, match="need a positive pair"):
        fitted(texts, none)


def test_the_overlap_is_the_share_of_the_fine_topic_that_the_coarse_one_has():
    fine = TopicWords(np.array([[2, 3], [4, 5], [6, 0]]), np.array([[7, 8], [9, 7], [8, 0]]))
    coarse = TopicWords(np.array([[2, 4, 5, 0]]), np.array([[7, 9, 0, 0]]))
    np.testing.assert_allclose(topic_overlap(fine, coarse), [[0.5 * 0.5, 1.0, 0.0]])


def test_every_coarse_topic_has_links_and_every_fine_topic_has_one():
    overlap = np.array([[0.9, 0.1, 0.3, 0.0], [0.8, 0.2, 0.2, 0.0]])
    np.testing.assert_array_equal(link_topics(overlap, 2), [[True, False, True, True], [True, True, False, False]])
    np.testing.assert_array_equal(link_topics(overlap, 9), np.ones((2, 4), bool))
