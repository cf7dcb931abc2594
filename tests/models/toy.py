"""Small models and random texts for tests that every model must pass."""

from typing import Any

import numpy as np
import torch

from pairlight.data.pairs import Pairs
from pairlight.layers.types import Tokens
from pairlight.models import build, model_class
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts
from reference import CASES, Case

__all__ = [
    "CASES",
    "DISTINCT",
    "VOCAB",
    "Case",
    "Text",
    "bare",
    "corpus",
    "flat",
    "ngram_table",
    "ready",
    "subwords_of",
    "texts",
    "tokens",
]

VOCAB = 30
DISTINCT = 40  # distinct words in the table of character n-grams
Text = list[int]


def bare(name: str, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a model with evidence turned off, where the model takes it."""
    return (settings or {}) | ({"evidence": False} if model_class(name).takes_evidence else {})


def ngram_table() -> np.ndarray:
    """Random character n-grams of each distinct word, padded with zeros."""
    rng = np.random.default_rng(7)
    table = rng.integers(2, VOCAB, (DISTINCT, 6))
    table[np.arange(6) >= rng.integers(1, 7, DISTINCT)[:, None]] = 0
    table[0] = 0
    return table


def tokens(model: PairModel, texts: list[Text], extra: int = 0, junk: int = 0) -> Tokens:
    """A batch of texts with `extra` columns of padding; `junk` is the id under padding."""
    subwords = Tokens(*_padded(list(map(subwords_of, texts)), extra, junk)) if model.reads_subwords else None
    ngrams = None if model.inputs.input_kind == "words" else torch.from_numpy(ngram_table())
    return Tokens(*_padded(texts, extra, junk), ngrams, subwords=subwords)


def _padded(texts: list[Text], extra: int, junk: int) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, texts)) + extra
    ids = torch.full((len(texts), width), junk)
    mask = torch.zeros((len(texts), width), dtype=torch.bool)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = True
    return ids, mask


def subwords_of(text: Text) -> Text:
    """The text as made-up subwords: every third word has two."""
    return [100 + 7 * word + part for word in text for part in range(2 if word % 3 == 0 else 1)]


def flat(texts: list[Text], *, subwords: bool, ngrams: np.ndarray | None = None) -> TokenizedTexts:
    """Texts as one flat array of ids, and optionally as subwords too."""
    start = np.cumsum([0, *map(len, texts)])
    inner = flat(list(map(subwords_of, texts)), subwords=False) if subwords else None
    return TokenizedTexts(np.concatenate(texts).astype(np.int32), start, 0, ngrams, subwords=inner)


def texts(count: int, seed: int, longest: int = 9, shortest: int = 1) -> list[Text]:
    """Random texts that share words; ids from VOCAB on are out-of-vocabulary words."""
    rng = np.random.default_rng(seed)
    return [rng.integers(2, VOCAB + 6, rng.integers(shortest, longest + 1)).tolist() for _ in range(count)]


def ready(case: Case, seed: int = 0) -> PairModel:
    """The model of a case in float64, with statistics of the toy corpus and random weights everywhere."""
    torch.manual_seed(seed)
    model = build(case.name, VOCAB, **case.settings).double()
    model.fit_statistics(*corpus(model))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4)
        for layer in model.all_layers():
            if hasattr(layer, "padding_id"):
                layer.weight[layer.padding_id] = 0
    return model.double().eval()


def corpus(model: PairModel) -> tuple[TokenizedTexts, Pairs]:
    """A toy training set: 20 left texts, each with one right text that shares words and one random right text."""
    lefts = texts(20, seed=1, shortest=3)
    rights = [left[:2] + other for left, other in zip(lefts, texts(20, seed=2), strict=True)]
    every = [*lefts, *rights, *texts(20, seed=3)]
    ngrams = None if model.inputs.input_kind == "words" else ngram_table().astype(np.int32)
    tokenized = flat(every, subwords=model.reads_subwords, ngrams=ngrams)
    left = np.tile(np.arange(20, dtype=np.int32), 2)
    right = np.arange(20, 60, dtype=np.int32)
    label = np.repeat(np.array([1, 0], np.float32), 20)
    return tokenized, Pairs([f"text {i}" for i in range(60)], left, right, left, label)
