"""Small models and small texts for the tests that every model must pass."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from pairlight.data.pairs import Pairs
from pairlight.layers.types import Tokens
from pairlight.models import build
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts

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
    Case("dssm", {"hidden": 6, "code": 4}),
    Case("cdssm", {"hidden": 6, "code": 4}),
    Case("arc-i", {"maps": 4, "mlp": 5, "length": 20, **WORDS}),
    Case("arc-i", {"maps": 4, "mlp": 5, "length": 7, "gate": "both", **WORDS}),
    Case("arc-i", {"maps": 4, "mlp": 5, "length": 11, "width": 2, "layers": 3, **WORDS}),
    Case("arc-i", {"preset": "mv-lstm", "maps": 4, "mlp": 5, **WORDS}),
    Case("cntn", {"maps": 4, "top": 2, "code": 5, "channels": 3, **WORDS}),
    Case("cntn", {"maps": 4, "top": 1, "code": 5, "width": 2, "layers": 3, "gate": "left", **WORDS}),
    Case("cntn", {"preset": "mv-lstm", "maps": 4, "channels": 3, **WORDS}),
    *(
        Case("multigran-cnn", {"interaction": kind, "grid": 8, "middle": 5, "last": 3, "maps": 2, "mlp": 5, **WORDS})
        for kind in ("indirect", "direct", "concat")
    ),
    Case("multigran-cnn", {"width": 2, "layers": 2, "least": 2, "grid": 4, "middle": 4, "gate": "both", **WORDS}),
    Case("multigran-cnn", {"preset": "mv-lstm", "grid": 6, "mlp": 5, **WORDS}),
    Case("lstm-rnn", {"hidden": 5, **WORDS}),
    Case("bi-lstm-rnn", {"hidden": 5, **WORDS}),
    *(
        Case("mv-lstm", {"interaction": kind, "channels": 3, "k": 4, "hidden": 5, "mlp": 7, **WORDS})
        for kind in ("cosine", "cosine-per-direction", "bilinear", "tensor")
    ),
    Case("mv-lstm", {"gate": "both", "k": 3, "hidden": 5, "mlp": 7, **WORDS}),
    Case("mv-lstm", {"gate": "left", "rescale": True, "k": 3, "hidden": 5, "mlp": 7, **WORDS}),
    *(
        Case("amv-lstm", {"gate": gate, "k": 4, "hidden": 5, "mlp": 7, **WORDS})
        for gate in ("none", "left", "right", "both")
    ),
    Case("amv-lstm", {"rescale": True, "interaction": "tensor", "k": 3, "hidden": 5, "mlp": 7, **WORDS}),
    Case("urae", {"grid": 4, "steps": 3, **WORDS}),
    Case("urae", {"gate": "right", "grid": 7, "steps": 1, **WORDS}),
    Case("arc-ii", {"maps": 4, "mlp": 5, "length": 20, **WORDS}),
    Case("arc-ii", {"maps": 4, "mlp": 5, "length": 7, "layers": 2, "gate": "right", **WORDS}),
    Case("arc-ii", {"maps": 4, "mlp": 5, "length": 6, "layers": 1, "width": 2, **WORDS}),
    *(
        Case(name, {"hidden": 3, "channels": 2, **kind, **WORDS})
        for name in ("match-srnn", "bi-match-srnn")
        for kind in ({}, {"interaction": "cosine"}, {"reset_gates": False, "activation": "relu"}, {"tied_gates": True})
    ),
    *(
        Case("deepmatch", {"topics": topics, "patch": patch, "units": 2, "links": 2, "committee": 3})
        for topics, patch in (("5,3,2", 6), ("4", 40))  # 40: more than either side has words
    ),
    Case("duet", {"left_length": 6, "right_length": 8, "hidden": 5, "pool": 3}),
    Case("duet", {"left_length": 12, "right_length": 14, "hidden": 5, "pool": 12}),
    *(
        Case("match-pyramid", {"interaction": kind, "channels": 2, "maps": 3, "deep": 4, "mlp": 5, **WORDS})
        for kind in ("dot", "cosine", "gaussian", "bilinear", "tensor")
    ),
    Case("match-pyramid", {"height": 2, "width": 4, "rows": 3, "columns": 6, "window": 2, "gate": "left", **WORDS}),
    Case("pacrr", {"maps": 4, **WORDS}),
    Case("pacrr", {"grams": 1, "k": 5, **WORDS}),
    Case("pacrr", {"maps": 3, "gate": "both", "rescale": True, **WORDS}),
    *(Case("anmm", {"bins": 21, "gate": gate, **WORDS}) for gate in ("none", "left", "right", "both")),
    Case("anmm", {"bins": 8, "gate": "both", "rescale": True, **WORDS}),
    Case("drmm", {"bins": 12, "gate": "left", **WORDS}),
    *(
        Case("drmm", {"counts": counts, "hidden": 3, "idf": False, "gate": "both", "rescale": True, **WORDS})
        for counts in ("count", "share", "log")
    ),
    Case("knrm", WORDS),
    Case("knrm", {"kernels": 6, "gate": "both", **WORDS}),
    Case("knrm", {"gate": "left", "rescale": True, **WORDS}),
    Case("conv-knrm", {"filters": 5, **WORDS}),
    Case("conv-knrm", {"filters": 5, "grams": 2, "kernels": 4, "gate": "both", "rescale": True, **WORDS}),
    Case("esim", {"hidden": 4, **WORDS}),
    Case("esim", {"hidden": 4, "gate": "both", **WORDS}),
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
    return Tokens(ids, mask, None if model.inputs.input_kind == "words" else torch.from_numpy(letters()))


def texts(count: int, seed: int, longest: int = 9, shortest: int = 1) -> list[Text]:
    """Random texts, some of whose words are shared, and some unknown (numbers beyond the vocabulary)."""
    rng = np.random.default_rng(seed)
    return [rng.integers(2, VOCAB + 6, rng.integers(shortest, longest + 1)).tolist() for _ in range(count)]


def ready(case: Case, seed: int = 0) -> PairModel:
    """The model of a case in float64, prepared on toy texts, its weights scrambled so that no unit is dead."""
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
    """Toy training texts as ids: 20 lefts, each with a right text that shares words and one that need not."""
    lefts = texts(20, seed=1, shortest=3)
    rights = [left[:2] + other for left, other in zip(lefts, texts(20, seed=2), strict=True)]
    every = [*lefts, *rights, *texts(20, seed=3)]
    start = np.concatenate([[0], np.cumsum([len(t) for t in every])])
    spelling = None if model.inputs.input_kind == "words" else letters().astype(np.int32)
    encoded = TokenizedTexts(np.array([w for t in every for w in t], np.int32), start, 0, spelling)
    left = np.tile(np.arange(20, dtype=np.int32), 2)
    right = np.arange(20, 60, dtype=np.int32)
    label = np.repeat(np.array([1, 0], np.float32), 20)
    return encoded, Pairs([f"text {i}" for i in range(60)], left, right, left, label)
