"""The features of pairs equal a slow loop, whatever is stored under padding, and the untrained scorer uses them."""

import numpy as np
import pytest
import torch

from layers.toy import Recorder
from pairlight.layers.evidence import FEATURES, PRIOR, SUBWORDS, Evidence, PairFeatures, subword_idf
from pairlight.layers.tracing import tracing
from pairlight.layers.types import Seq, Tokens
from pairlight.text.subwords import document_frequency
from reference.late_interaction import pair_features, static_vectors

LEFT = [[2, 3, 2, 5], [4], [6, 7, 3], [2, 2, 3, 8, 9, 4]]
RIGHT = [[3, 2, 2], [4], [9, 10], [3, 11, 2, 4, 4]]
AVERAGE_LENGTH = 3.7
DIM = 4


def made(texts: list[list[int]], seed: int, extra: int = 0, junk: int = 0) -> tuple[Seq, torch.Tensor]:
    """Random vectors and weights of texts, the same whatever the padding; `junk` is the id under padding."""
    rng = np.random.default_rng(seed)
    width = max(map(len, texts)) + extra
    x, r = np.zeros((len(texts), width, DIM)), np.zeros((len(texts), width))
    ids, mask = np.full((len(texts), width), junk), np.zeros((len(texts), width), bool)
    for row, text in enumerate(texts):
        x[row, : len(text)], r[row, : len(text)] = rng.normal(size=(len(text), DIM)), rng.uniform(0.1, 1, len(text))
        ids[row, : len(text)], mask[row, : len(text)] = text, True
    return Seq(*map(torch.from_numpy, (x, mask, ids))), torch.from_numpy(r)


def layer(k: int) -> PairFeatures:
    features = PairFeatures(k).double()
    features.set_average_length(AVERAGE_LENGTH)
    return features


def features_of(k: int, left: list[list[int]], right: list[list[int]], **padding: int) -> np.ndarray:
    (u, r), (v, q) = made(left, 1, **padding), made(right, 2, **padding)
    return layer(k)(u, v, r, q).numpy()


def in_a_loop(k: int, left: list[list[int]], right: list[list[int]]) -> np.ndarray:
    """The features pair by pair; right text number i belongs to left text number i mod the number of left texts."""
    (u, r), (v, q) = made(left, 1), made(right, 2)
    rows = []
    for j, text in enumerate(right):
        i = j % len(left)
        L, R = len(left[i]), len(text)
        x, y = list(u.x[i, :L].numpy()), list(v.x[j, :R].numpy())
        average = float(np.float32(AVERAGE_LENGTH))
        rows.append(pair_features(x, y, r[i, :L].tolist(), q[j, :R].tolist(), left[i], text, average, k))
    return np.array(rows)


def test_the_features_have_names():
    assert features_of(0, LEFT, RIGHT).shape == (4, len(FEATURES)) == (4, 9)
    assert features_of(5, LEFT, RIGHT).shape == (4, 14)


@pytest.mark.parametrize("k", [0, 1, 3, 200])
@pytest.mark.parametrize(("extra", "junk"), [(0, 0), (3, 2), (5, 10**6), (2, -1)])
def test_the_features_equal_a_slow_loop_whatever_the_padding(k, extra, junk):
    expected = in_a_loop(k, LEFT, RIGHT)
    np.testing.assert_allclose(features_of(k, LEFT, RIGHT, extra=extra, junk=junk), expected, rtol=1e-12, atol=1e-12)


def test_more_cells_than_there_are_leave_zeros():
    found = features_of(200, LEFT, RIGHT)[:, len(FEATURES) :]
    for row, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        assert not found[row, len(left) * len(right) :].any()
        assert found[row, : len(left) * len(right)].all()


@pytest.mark.parametrize("k", [0, 4])
@pytest.mark.parametrize("lefts", [1, 2])
def test_a_left_text_may_have_several_right_texts(k, lefts):
    np.testing.assert_allclose(
        features_of(k, LEFT[-lefts:], RIGHT), in_a_loop(k, LEFT[-lefts:], RIGHT), rtol=1e-12, atol=1e-12
    )


def test_one_word_texts_have_the_features_of_their_words():
    same, other = (features_of(2, [[7]], [right])[0] for right in ([7], [8]))
    (u, _), (v, _) = made([[7]], 1), made([[7]], 2)
    cosine = float(torch.cosine_similarity(u.x[0, 0], v.x[0, 0], dim=0))
    bm25 = 1 / (1 + 1.2 * (0.25 + 0.75 / AVERAGE_LENGTH))
    lengths = [np.log(2)] * 2
    np.testing.assert_allclose(same, [*[cosine] * 4, 1, 1, bm25, *lengths, cosine, 0], rtol=1e-6)
    np.testing.assert_allclose(other, [*[cosine] * 4, 0, 0, 0, *lengths, cosine, 0], rtol=1e-6)


def poisoned(u: Seq, poison: float) -> Seq:
    return Seq(torch.where(u.mask[..., None], u.x, poison), u.mask, u.ids)


@pytest.mark.parametrize("poison", [float("nan"), 1e3])
def test_the_features_ignore_vectors_under_padding(poison):
    (u, r), (v, q) = made(LEFT, 1, extra=2), made(RIGHT, 2, extra=3)
    found = layer(3)(poisoned(u, poison), poisoned(v, poison), r, q)
    torch.testing.assert_close(found, layer(3)(u, v, r, q), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("poison", [float("nan"), 1e3])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("k", [0, 3])
def test_the_maxima_ignore_vectors_under_padding(poison, traced, k):
    features = layer(k)
    (u, _), (v, _) = made(LEFT, 1, extra=2), made(RIGHT, 2, extra=3)
    expected = features.maxima(u, v)
    with tracing(Recorder(*([features.interact] if traced else []))):
        found = features.maxima(poisoned(u, poison), poisoned(v, poison))
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [0, 3, 200])
@pytest.mark.parametrize("watched", ["interact", "aggregate"])
def test_features_that_are_watched_equal_those_computed_at_once(k, watched):
    (u, r), (v, q) = made(LEFT[:2], 1, extra=2, junk=3), made(RIGHT, 2, extra=1, junk=3)
    features = layer(k)
    recorder = Recorder(getattr(features, watched))
    with tracing(recorder):
        found = features(u, v, r, q)
    assert len(recorder.outputs) == (watched == "interact" or k > 0)
    torch.testing.assert_close(found, features(u, v, r, q), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [0, 3])
def test_the_gradients_are_those_of_the_features(k):
    (u, r), (v, q) = made(LEFT[:2], 1), made(RIGHT, 2)
    features = layer(k)

    def of(x, y, r, q):  # the vectors under padding stay zero
        return features(u.with_x(x), v.with_x(y), torch.where(u.mask, r, 0), torch.where(v.mask, q, 0))

    inputs = [each.clone().requires_grad_() for each in (u.x, v.x, r, q)]
    assert torch.autograd.gradcheck(of, inputs, eps=1e-6, atol=1e-6)


# The idf of subwords


def test_without_texts_the_idf_is_that_of_a_general_corpus():
    counts, size = document_frequency()
    raw = np.log(1 + PRIOR / (counts * PRIOR / size + 0.5))
    found = subword_idf(np.zeros(SUBWORDS, np.int64), 0)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, raw / raw.max(), rtol=1e-6)
    assert found.max() == 1
    assert found[counts.argmax()] == found.min() < 0.2


def test_the_general_corpus_counts_as_a_thousand_texts():
    counts, size = document_frequency()
    own = np.zeros(SUBWORDS, np.int64)
    rare = int(np.flatnonzero(counts == 0)[0])
    own[rare] = 500
    raw = np.log(1 + (500 + 1000) / (own + counts * 1000 / size + 0.5))
    found = subword_idf(own, 500)
    np.testing.assert_allclose(found, raw / raw.max(), rtol=1e-6)
    assert found[rare] < 0.3  # it is in every text
    assert subword_idf(np.zeros(SUBWORDS, np.int64), 500)[rare] == 1


def test_a_part_of_the_subwords_has_the_prior_of_its_own_ids():
    np.testing.assert_array_equal(
        subword_idf(np.zeros(50, np.int64), 0),
        (whole := subword_idf(np.zeros(SUBWORDS, int), 0))[:50] / whole[:50].max(),
    )


# Evidence


def tokens(texts: list[list[int]], extra: int = 0, junk: int = 0) -> Tokens:
    u, _ = made(texts, 0, extra, junk)
    return Tokens(u.ids, u.mask)


SUBWORD_LEFT = [[310, 4799, 310], [29871], [263, 1243]]
SUBWORD_RIGHT = [[4799, 310, 263], [9000, 29871], [12, 31999]]


def untrained() -> Evidence:
    evidence = Evidence()
    evidence.init_weights()
    return evidence


def test_the_untrained_score_has_the_weights_of_the_table_and_a_middling_pair_has_zero():
    evidence = untrained()
    idf = evidence.idf.double().numpy()
    found = evidence(tokens(SUBWORD_LEFT), tokens(SUBWORD_RIGHT)).detach().numpy()
    for score, left, right in zip(found, SUBWORD_LEFT, SUBWORD_RIGHT, strict=True):
        x, y = static_vectors(left), static_vectors(right)
        f = pair_features(x, y, [idf[w] for w in left], [idf[w] for w in right], left, right, 1.0, 0)
        np.testing.assert_allclose(score, 4 * f[0] + 4 * f[2] + 2 * f[3] + 2 * f[4] - 6, rtol=1e-5, atol=1e-5)
    same = evidence(tokens(SUBWORD_LEFT), tokens(SUBWORD_LEFT)).detach().numpy()
    np.testing.assert_allclose(same, 6, rtol=1e-5)


def test_statistics_change_the_idf_and_the_average_length():
    evidence, frequency = untrained(), np.zeros(SUBWORDS, np.int64)
    frequency[310] = 5000
    evidence.set_frequencies(frequency, 5000, 7.5)
    np.testing.assert_array_equal(evidence.idf.numpy(), subword_idf(frequency, 5000))
    assert float(evidence.features.average_length) == 7.5
    (weights,) = evidence.weights(tokens([[310, 4799]], extra=1, junk=310)).tolist()
    assert weights[0] < 0.3 < weights[1]
    assert weights[2] == 0


@pytest.mark.parametrize(("extra", "junk"), [(3, 310), (2, 10**6), (1, -5)])
def test_ids_under_padding_do_not_change_the_evidence(extra, junk):
    evidence = untrained()
    padded = (tokens(texts, extra, junk) for texts in (SUBWORD_LEFT, SUBWORD_RIGHT))
    expected = evidence(tokens(SUBWORD_LEFT), tokens(SUBWORD_RIGHT))
    torch.testing.assert_close(evidence(*padded), expected, rtol=1e-6, atol=1e-6)


def test_only_the_linear_layer_of_evidence_is_trained():
    evidence = untrained()
    evidence(tokens(SUBWORD_LEFT), tokens(SUBWORD_RIGHT)).sum().backward()
    gradients = {name: p.grad for name, p in evidence.named_parameters()}
    assert set(gradients) == {"linear.weight", "linear.bias"}
    assert all(gradient is not None and bool(gradient.any()) for gradient in gradients.values())
