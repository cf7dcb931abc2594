"""How a model is trained: one flat table of options, each with its rule."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from pairlight.errors import InputError
from pairlight.models.base import PairModel
from pairlight.training.losses import LABEL_LOSSES, LIST_LOSSES

CHOICES: dict[str, tuple[str, ...]] = {
    "loss": ("auto", *LIST_LOSSES, *LABEL_LOSSES),
    "optimizer": ("adagrad", "adam", "adamw"),
    "negatives": ("list", "random", "bm25"),
    "metric": ("auto", "P@1", "MRR", "MAP", "nDCG@3", "nDCG@5", "nDCG@10", "accuracy", "F1", "ROC-AUC", "AP"),
}
LEAST: dict[str, float] = {"epochs": 0, "batch": 1, "wrong": 1, "patience": 0, "min_count": 1, "max_length": 1, "top": 1, "extra_words": 0}


@dataclass(frozen=True)
class Options:
    """The house's values, which are those of the MV-LSTM paper and of its authors' scripts where they say more."""

    loss: str = "auto"  # hinge for ranking lists, cross-entropy for labelled pairs
    margin: float = 1.0  # of the hinge
    smoothing: float = 10.0  # of the softmax
    optimizer: str = "adagrad"
    lr: float = 0.03
    weight_decay: float = 0.0
    clip: float = 0.0  # largest norm of the gradient; 0 leaves it as it is
    batch: int = 128  # triples or labelled pairs a step
    epochs: int = 10
    patience: int = 3  # epochs without a better dev metric before training ends; 0 never ends early
    metric: str = "auto"  # the dev metric the best epoch is chosen by: MAP for lists, accuracy for labelled pairs
    negatives: str = "list"  # those of the list, or mined: random, bm25
    wrong: int = 4  # worse texts drawn for each better one
    top: int = 1000  # how many of BM25's best the mined ones are drawn from
    vectors: str = "skip-gram"  # or glove-50d, a file, none
    extra_words: int = 50_000  # words of published vectors kept beyond those of the training texts
    normalize: bool = True  # word vectors start at length 1
    freeze: bool = False  # word vectors stay as they start
    scale: float = 0.1  # weights start uniform within ±scale
    min_count: int = 1  # words seen less often share the unknown word's vector
    max_length: int = 50  # words of a text that are read
    seed: int = 1

    @classmethod
    def of(cls, model: type[PairModel], given: dict[str, Any]) -> Self:
        """The options given, else what the model's paper does, else the house's values."""
        known = {field.name: type(field.default) for field in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise InputError(f"There is no training option '{name}'. The options are: {', '.join(known)}.")
            if known[name] is not type(value) and not (known[name] is float and isinstance(value, int)):
                raise InputError(f"{name}={value!r} is not a {known[name].__name__}: give one.")
        options = replace(cls(), **(model.training | given))
        for name, choices in CHOICES.items():
            if getattr(options, name) not in choices:
                raise InputError(f"{name}={getattr(options, name)!r} is none of {', '.join(choices)}.")
        for name, least in LEAST.items():
            if getattr(options, name) < least:
                raise InputError(f"{name}={getattr(options, name)} is too small: it must be at least {least:g}.")
        for name in ("lr", "scale", "smoothing"):
            if not 0 < getattr(options, name) < float("inf"):
                raise InputError(f"{name}={getattr(options, name)} is out of range: it must be above 0.")
        for name in ("margin", "weight_decay", "clip"):
            if not 0 <= getattr(options, name) < float("inf"):
                raise InputError(f"{name}={getattr(options, name)} is out of range: it must not be negative.")
        return options

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
