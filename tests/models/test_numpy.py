"""Every model runs on NumPy through the same layers, with the scores it has on PyTorch."""

from typing import get_args

import numpy as np
import pytest
import torch

from models.toy import VOCAB, Text, corpus, flat, ngram_table, texts
from pairlight.layers.backends import use_backend
from pairlight.layers.collate import collate
from pairlight.layers.interactions import InteractionName
from pairlight.layers.types import Tokens
from pairlight.models import MODELS, build, model_class
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts
from reference import CASES, Case

SMALL = {"mv-lstm": {"hidden": 5, "mlp": 7, "dim": 6}, "match-pyramid": {"maps": 3, "deep": 4, "mlp": 5, "dim": 6}}
NUMPY_CASES = [
    *(Case(name, {"interaction": kind, **SMALL[name]}) for name in SMALL for kind in get_args(InteractionName)),
    *(Case(name, {"gate": gate, **SMALL[name]}) for name in SMALL for gate in ("left", "right", "both")),
    *(Case(name, {"gate": "both", "rescale": True, **SMALL[name]}) for name in SMALL),
    *(
        Case("mv-lstm", {"k": k, "interaction": kind, **SMALL["mv-lstm"]})
        for k in (1, 50)
        for kind in ("dot", "tensor")
    ),
    Case("match-pyramid", {"height": 2, "width": 4, "rows": 3, "columns": 6, "window": 2, "dim": 6}),
    *(Case(name, {"dropout": 0.3, **SMALL[name]}) for name in SMALL),
    *CASES,  # every model has some
    *(
        Case(name, {**next(case.settings for case in CASES if case.name == name), "evidence": True})
        for name in MODELS
        if model_class(name).takes_evidence
    ),
]
every_case = pytest.mark.parametrize("case", NUMPY_CASES, ids=str)


def both(case: Case) -> tuple[PairModel, PairModel]:
    """The same model with the same random weights on PyTorch and on NumPy, in float32."""
    torch.manual_seed(0)
    model = build(case.name, VOCAB, **case.settings).eval()
    model.fit_statistics(*corpus(model))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4)
    with use_backend("numpy"):
        on_numpy = build(case.name, VOCAB, **case.settings).eval()
    on_numpy.load_state_dict({name: array.numpy() for name, array in model.state_dict().items()})
    assert all(type(array) is np.ndarray for _, array in on_numpy.named_arrays())
    return model, on_numpy


def tokenized(every: list[Text]) -> TokenizedTexts:
    return flat(every, subwords=True, ngrams=ngram_table().astype(np.int32))


def padded(tokens: Tokens, extra: int, junk: int) -> Tokens:
    """The same batch with more padding, and this id under padding."""
    ids = np.pad(np.where(tokens.mask, tokens.ids, junk), ((0, 0), (0, extra)), constant_values=junk)
    subwords = None if tokens.subwords is None else padded(tokens.subwords, extra, junk)
    return Tokens(ids, np.pad(tokens.mask, ((0, 0), (0, extra))), tokens.ngrams, subwords=subwords)


def assert_equal_scores(case: Case, left: list[Text], right: list[Text], extra: int = 0, junk: int = 0) -> None:
    model, on_numpy = both(case)
    every = tokenized([*left, *right])
    numbers = np.arange(len(left)), np.arange(len(left), len(left) + len(right))
    with torch.no_grad():
        expected = model(*(collate(every, side, "cpu") for side in numbers)).numpy()
    scores = on_numpy(*(padded(collate(every, side), extra, junk) for side in numbers))
    assert type(scores) is np.ndarray
    assert scores.dtype == expected.dtype
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


@every_case
def test_scores_on_numpy_equal_those_on_pytorch(case):
    assert_equal_scores(case, texts(8, seed=11), texts(8, seed=12))


@every_case
def test_scores_on_numpy_equal_those_on_pytorch_whatever_the_padding(case):
    assert_equal_scores(case, texts(8, seed=11), texts(8, seed=12), extra=5, junk=10**6)


@every_case
def test_scores_on_numpy_equal_those_on_pytorch_for_one_left_text_and_several_right_texts(case):
    assert_equal_scores(case, texts(1, seed=13), texts(8, seed=14))
    assert_equal_scores(case, texts(3, seed=13), texts(9, seed=14))


@every_case
def test_scores_on_numpy_equal_those_on_pytorch_for_lengths_from_1_to_200(case):
    lengths = [1, 2, 3, 7, 20, 64, 127, 200]
    rng = np.random.default_rng(3)
    left, right = ([rng.integers(2, VOCAB + 6, n).tolist() for n in order] for order in (lengths, lengths[::-1]))
    assert_equal_scores(case, left, right)
    assert_equal_scores(case, left, left)
    assert_equal_scores(case, [[2]], [[3]])


@every_case
def test_a_pair_alone_equals_the_pair_in_a_batch_on_numpy(case):
    _, model = both(case)
    left, right = texts(6, seed=15), texts(6, seed=16)
    every, side = tokenized([*left, *right]), np.arange(6)
    together = model(collate(every, side), collate(every, side + 6))
    alone = [model(collate(every, side[[i]]), collate(every, side[[i]] + 6))[0] for i in range(6)]
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)


@every_case
def test_scores_on_numpy_equal_those_on_pytorch_for_words_with_vectors_that_are_not_numbers(case):
    model, on_numpy = both(case)
    if model.word_vectors is None:
        pytest.skip("no word vectors")
    with torch.no_grad():
        model.word_vectors[3] = on_numpy.word_vectors[3] = float("nan")
    every, side = tokenized([[3, 4, 5], [6, 7], [5, 6, 8], [3, 9]]), np.arange(2)
    try:
        with torch.no_grad():
            expected = model(collate(every, side, "cpu"), collate(every, side + 2, "cpu")).numpy()
    except (RuntimeError, IndexError):
        pytest.skip("not a number has no bin")
    with np.errstate(invalid="ignore"):
        scores = on_numpy(collate(every, side), collate(every, side + 2))
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_scores_without_compiled_kernels_are_the_same(name, monkeypatch):
    _, model = both(next(case for case in CASES if case.name == name))
    every, side = tokenized([*texts(5, seed=17), *texts(5, seed=18)]), np.arange(5)
    expected = model(collate(every, side), collate(every, side + 5))
    monkeypatch.setenv("PAIRLIGHT_KERNELS", "reference")
    scores = model(collate(every, side), collate(every, side + 5))
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)
