"""The training options, each with its meaning and its range."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from pairlight.core.errors import InputError, unknown_name
from pairlight.evaluation.metrics import PAIR_METRICS, RANKING_METRICS

LIST_LOSSES = ("hinge", "listwise")
LABEL_LOSSES = ("bce", "squared")
CHOICES: dict[str, tuple[str, ...]] = {
    "loss": ("auto", *LIST_LOSSES, *LABEL_LOSSES),
    "optimizer": ("adagrad", "adam", "adamw"),
    "negatives": ("list", "random", "bm25"),
    "metric": ("auto", *RANKING_METRICS, *PAIR_METRICS),
}

MAX_NEGATIVES = 10_000  # of a positive
_MAX_NUMBER = 1e6  # larger values of any option are mistakes, and overflow in float32 after a few products


def option(
    default: Any,
    meaning: str,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float = _MAX_NUMBER,
) -> Any:
    return field(default=default, metadata={"meaning": meaning, "minimum": minimum, "above": above, "maximum": maximum})


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. The defaults suit models with evidence: see `pairlight reproduce defaults`."""

    loss: str = option(
        "auto",
        "Listwise or hinge (ranking lists), bce or squared (labels); auto: listwise for lists, bce for labels (scaled "
        "to at most 1), squared where a label is negative",
    )
    margin: float = option(1.0, "Margin of the hinge loss", minimum=0)
    softmax_scale: float = option(1.0, "Factor of the scores in the listwise loss", above=0)
    optimizer: str = option("adam", "Optimizer: adagrad, adam or adamw")
    lr: float = option(0.001, "Learning rate", above=0, maximum=1000)
    epsilon: float = option(0.1, "Epsilon of AdaGrad's denominator", above=0)
    weight_decay: float = option(0.0, "Weight decay", minimum=0)
    max_grad_norm: float = option(0.0, "Largest norm of the gradient; 0 for no limit", minimum=0)
    batch: int = option(32, "Positive-negative pairs, or labeled pairs, per step", minimum=1)
    epochs: int = option(12, "Largest number of passes over the training pairs", minimum=0)
    patience: int = option(4, "Epochs without a better dev metric before training stops; 0 for no limit", minimum=0)
    metric: str = option(
        "auto",
        "Dev metric that selects the best epoch; auto: MAP for lists (nDCG@10 where all labels are positive), accuracy "
        "for labels (Spearman where there are more than two)",
    )
    negatives: str = option("list", "Negatives: those of the list, or mined: random, bm25")
    negatives_per_positive: int = option(8, "Negatives drawn for each positive", minimum=1, maximum=MAX_NEGATIVES)
    top: int = option(1000, "Mined negatives are drawn from this many of BM25's best", minimum=1)
    vectors: str = option(
        "auto",
        "Initial word vectors: wordllama, skip-gram, glove-50d, none, or a file; auto: wordllama for texts in Latin "
        "script of fewer than 500,000 words, else skip-gram",
    )
    extra_words: int = option(
        50_000, "Words of pretrained vectors kept in addition to the training texts'", minimum=0, maximum=10_000_000
    )
    normalize: bool = option(True, "Scale word vectors to length 1 at the start")
    freeze: bool = option(True, "Keep word vectors fixed")
    init_scale: float = option(0.1, "Weights start uniform within ± this", above=0, maximum=1000)
    min_count: int = option(1, "Rarer words share the vector of unknown words", minimum=1)
    max_length: int = option(
        50,
        "Words of a text that are read; if it is not given, up to 256 where more than a tenth of the texts are longer",
        minimum=1,
    )
    seed: int = option(1, "Seed of everything random", minimum=0, maximum=2**32 - 1)

    @classmethod
    def of(cls, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> Self:
        """The given options, else the model's defaults, else pairlight's."""
        known = {each.name: type(each.default) for each in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise unknown_name("training option", name, known)
            if known[name] is not type(value) and not (known[name] is float and type(value) is int):
                raise InputError(
                    f"{name}={value!r} has the wrong type; the default is {getattr(cls, name)!r}.", option=name
                )
        config = replace(cls(), **(dict(defaults) | dict(given)))
        for each in fields(cls):
            _check(each.name, getattr(config, each.name), each.metadata)
        return config

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _check(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    minimum, above, maximum = rule["minimum"], rule["above"], rule["maximum"]
    if name in CHOICES and value not in CHOICES[name]:
        raise InputError(f"{name}={value!r} is not one of {', '.join(CHOICES[name])}.", option=name)
    if minimum is not None and not minimum <= value < float("inf"):
        raise InputError(f"{name}={value} is out of range: it must be at least {minimum:g}.", option=name)
    if above is not None and not above < value < float("inf"):
        raise InputError(f"{name}={value} is out of range: it must be above {above:g}.", option=name)
    if not isinstance(value, str) and value > maximum:
        raise InputError(f"{name}={value} is out of range: it must be at most {maximum:.0f}.", option=name)
