"""Topics of matching pairs: planted ones are found, negatives never read, and layers linked by shared words."""

import numpy as np
import pytest

from pairlight.data.pairs import Pairs
from pairlight.data.topics import PairTopics, Patches, linked, overlap
from pairlight.core.errors import InputError
from pairlight.text.tokenizer import TokenizedTexts

VOCAB = 40


def planted(pairs=60, other=None):
    """Pairs of one of two topics, each with words of its own on either side.

    The second half does not match; its texts are `other`, or words of both topics.
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
    encoded = TokenizedTexts(np.concatenate(texts).astype(np.int32), start, 0)
    return encoded, Pairs([str(n) for n in range(len(texts))], left, left + 1, left, label)


def found(texts, pairs) -> PairTopics:
    return PairTopics(texts, pairs, vocab=VOCAB, passes=10, seed=1)


def sides(patches: Patches) -> set[tuple[frozenset, frozenset]]:
    return {(frozenset(a.tolist()), frozenset(b.tolist())) for a, b in zip(patches.left, patches.right, strict=True)}


def test_words_that_go_together_across_the_sides_share_a_topic():
    one, two = (frozenset(range(2, 7)), frozenset(range(7, 12))), (frozenset(range(12, 17)), frozenset(range(17, 22)))
    assert sides(found(*planted()).patches(2, 5)) == {one, two}


def test_pairs_that_do_not_match_are_not_read():
    ours, theirs = (found(*planted(other=other)).patches(3, 4) for other in (None, [30, 31, 32]))
    np.testing.assert_array_equal(ours.left, theirs.left)
    np.testing.assert_array_equal(ours.right, theirs.right)


def test_the_same_seed_finds_the_same_topics():
    a, b = found(*planted()).patches(3, 4), found(*planted()).patches(3, 4)
    np.testing.assert_array_equal(a.left, b.left)
    np.testing.assert_array_equal(a.right, b.right)


def test_unknown_words_belong_to_no_topic():
    patches = found(*planted()).patches(2, 10)
    assert not np.isin([1, VOCAB + 3], [patches.left, patches.right]).any()


def test_a_patch_is_filled_up_with_zeros_where_a_side_has_fewer_words():
    patches = found(*planted()).patches(2, 13)
    assert patches.left.shape == (2, 13)
    assert (patches.left[:, 10:] == 0).all()
    assert (patches.left[:, :10] > 0).all()


def test_topics_need_a_pair_that_matches():
    texts, pairs = planted()
    none = Pairs(pairs.texts, pairs.left, pairs.right, pairs.group, np.zeros_like(pairs.label))
    with pytest.raises(InputError, match="no pair that matches"):
        found(texts, none)


def test_overlap_is_the_share_of_the_fine_topic_within_the_coarse_one():
    fine = Patches(np.array([[2, 3], [4, 5], [6, 0]]), np.array([[7, 8], [9, 7], [8, 0]]))
    coarse = Patches(np.array([[2, 4, 5, 0]]), np.array([[7, 9, 0, 0]]))
    np.testing.assert_allclose(overlap(fine, coarse), [[0.5 * 0.5, 1.0, 0.0]])


def test_every_coarse_topic_has_children_and_every_fine_one_a_parent():
    overlaps = np.array([[0.9, 0.1, 0.3, 0.0], [0.8, 0.2, 0.2, 0.0]])
    np.testing.assert_array_equal(linked(overlaps, 2), [[True, False, True, True], [True, True, False, False]])
    np.testing.assert_array_equal(linked(overlaps, 9), np.ones((2, 4), bool))
