"""Small models and small texts for the tests that every model must pass."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from pairlight.data.pairs import Pairs
from pairlight.models import build
from pairlight.models.base import PairModel
from pairlight.parts import Tokens
from pairlight.text.tokenizer import Encoded

VOCAB = 30
DISTINCT = 40  # words that the letters view tells apart
Text = list[int]


@dataclass(frozen=True)
class Case:
    """A model in a size that tests can afford."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.settings.items())])


WORDS = {"dim": 6}
CASES = [
    Case("random"),
    Case("bm25"),
    Case("lstm-rnn", {"hidden": 5, **WORDS}),
    Case("bi-lstm-rnn", {"hidden": 5, **WORDS}),
    *(
        Case("mv-lstm", {"interaction": kind, "channels": 3, "k": 4, "hidden": 5, "mlp": 7, **WORDS})
        for kind in ("cosine", "cosine-apart", "bilinear", "tensor")
    ),
    Case("mv-lstm", {"gate": "both", "k": 3, "hidden": 5, "mlp": 7, **WORDS}),
    Case("mv-lstm", {"gate": "left", "rescale": True, "k": 3, "hidden": 5, "mlp": 7, **WORDS}),
    *(
        Case("amv-lstm", {"gate": gate, "k": 4, "hidden": 5, "mlp": 7, **WORDS})
        for gate in ("none", "left", "right", "both")
    ),
    Case("amv-lstm", {"rescale": True, "interaction": "tensor", "k": 3, "hidden": 5, "mlp": 7, **WORDS}),
]


def letters() -> np.ndarray:
    """What each distinct word is spelt with, a ragged table filled up with zeros."""
    rng = np.random.default_rng(7)
    table = rng.integers(2, VOCAB, (DISTINCT, 6))
    table[np.arange(6) >= rng.integers(1, 7, DISTINCT)[:, None]] = 0
    table[0] = 0
    return table


def tokens(model: PairModel, texts: list[Text], extra: int = 0, junk: int = 0) -> Tokens:
    """Texts side by side with `extra` columns of padding; `junk` stands where there is no word."""
    width = max(map(len, texts)) + extra
    ids = torch.full((len(texts), width), junk)
    mask = torch.zeros((len(texts), width), dtype=torch.bool)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = torch.tensor(text)
        mask[row, : len(text)] = True
    return Tokens(ids, mask, None if model.view == "words" else torch.from_numpy(letters()))


def texts(count: int, seed: int, longest: int = 9, shortest: int = 1) -> list[Text]:
    """Random texts, some of whose words are shared, and some unknown (numbers beyond the vocabulary)."""
    rng = np.random.default_rng(seed)
    return [rng.integers(2, VOCAB + 6, rng.integers(shortest, longest + 1)).tolist() for _ in range(count)]


def ready(case: Case, seed: int = 0) -> PairModel:
    """The model of a case in float64, prepared on toy texts, its weights scrambled so that no unit is dead."""
    torch.manual_seed(seed)
    model = build(case.name, VOCAB, **case.settings).double()
    model.prepare(*corpus(model))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4)
        for module in model.modules():
            if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None:
                module.weight[module.padding_idx] = 0
    return model.double().eval()


def corpus(model: PairModel) -> tuple[Encoded, Pairs]:
    """Toy training texts as ids: 20 lefts, each with a right text that shares words and one that need not."""
    lefts = texts(20, seed=1, shortest=3)
    rights = [left[:2] + other for left, other in zip(lefts, texts(20, seed=2), strict=True)]
    every = [*lefts, *rights, *texts(20, seed=3)]
    start = np.concatenate([[0], np.cumsum([len(t) for t in every])])
    spelling = None if model.view == "words" else letters().astype(np.int32)
    encoded = Encoded(np.array([w for t in every for w in t], np.int32), start, 0, spelling)
    left = np.tile(np.arange(20, dtype=np.int32), 2)
    right = np.arange(20, 60, dtype=np.int32)
    label = np.repeat(np.array([1, 0], np.float32), 20)
    return encoded, Pairs([f"text {i}" for i in range(60)], left, right, left, label)
