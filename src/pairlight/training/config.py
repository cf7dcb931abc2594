"""How a model is trained: one flat table of options, each with its meaning and its rule."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from pairlight.core.errors import InputError

LIST_LOSSES = ("hinge", "listwise")
LABEL_LOSSES = ("bce", "squared")
RANKING_METRICS = ("P@1", "MRR", "MAP", "nDCG@3", "nDCG@5", "nDCG@10")
PAIR_METRICS = ("accuracy", "F1", "ROC-AUC", "AP", "Spearman")
CHOICES: dict[str, tuple[str, ...]] = {
    "loss": ("auto", *LIST_LOSSES, *LABEL_LOSSES),
    "optimizer": ("adagrad", "adam", "adamw"),
    "negatives": ("list", "random", "bm25"),
    "metric": ("auto", *RANKING_METRICS, *PAIR_METRICS),
}


def option(
    default: Any, meaning: str, least: float | None = None, above: float | None = None, most: float = float("inf")
) -> Any:
    return field(default=default, metadata={"meaning": meaning, "least": least, "above": above, "most": most})


@dataclass(frozen=True)
class TrainingConfig:
    """The house's values, which are those of the MV-LSTM paper and of its authors' scripts where they say more."""

    loss: str = option(
        "auto",
        "hinge, softmax, cross-entropy or squared; auto: hinge for lists, for pairs cross-entropy (labels above 1 are "
        "divided by the highest) or squared (where a label is below 0)",
    )
    margin: float = option(1.0, "how far the hinge wants a better text ahead of a worse one", least=0)
    softmax_scale: float = option(10.0, "the softmax loss sees scores times this", above=0)
    optimizer: str = option("adagrad", "adagrad, adam or adamw")
    lr: float = option(0.03, "learning rate", above=0)
    epsilon: float = option(0.1, "added to AdaGrad's root: small gradients move weights less", above=0)
    weight_decay: float = option(0.0, "pull of the weights towards zero", least=0)
    max_grad_norm: float = option(0.0, "largest norm of the gradient; 0 leaves it as it is", least=0)
    batch: int = option(128, "better-worse triples, or labelled pairs, in a step", least=1)
    epochs: int = option(10, "passes over the training pairs at most", least=0)
    patience: int = option(3, "epochs without a better dev metric before training ends; 0 never ends early", least=0)
    metric: str = option(
        "auto",
        "dev metric that chooses the best epoch; auto: MAP for lists (nDCG@10 where all labels are above 0), accuracy "
        "for pairs (Spearman where labels have more than two values)",
    )
    negatives: str = option("list", "worse texts: those of the list, or mined anew: random, bm25")
    negatives_per_positive: int = option(4, "worse texts drawn for each better one", least=1)
    top: int = option(1000, "mined negatives are drawn from this many of BM25's best", least=1)
    vectors: str = option("skip-gram", "word vectors to start from: skip-gram, glove-50d, none, or a file")
    extra_words: int = option(50_000, "words of published vectors kept beyond those of the training texts", least=0)
    normalize: bool = option(True, "word vectors start at length 1")
    freeze: bool = option(False, "word vectors stay as they start")
    init_scale: float = option(0.1, "weights start uniform within ± this", above=0)
    min_count: int = option(1, "words seen less often share the unknown word's vector", least=1)
    max_length: int = option(50, "words of a text that are read", least=1)
    seed: int = option(1, "fixes everything that is drawn at random", least=0, most=2**32 - 1)

    @classmethod
    def of(cls, papers: Mapping[str, Any], given: Mapping[str, Any]) -> Self:
        """The options given, else what the model's paper does, else the house's values."""
        known = {each.name: type(each.default) for each in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise InputError(f"There is no training option '{name}'. The options are: {', '.join(known)}.")
            if known[name] is not type(value) and not (known[name] is float and type(value) is int):
                raise InputError(f"{name}={value!r} is not of the kind of its default, {getattr(cls, name)!r}.")
        options = replace(cls(), **(dict(papers) | dict(given)))
        for each in fields(cls):
            _check(each.name, getattr(options, each.name), each.metadata)
        return options

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _check(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    least, above, most = rule["least"], rule["above"], rule["most"]
    if name in CHOICES and value not in CHOICES[name]:
        raise InputError(f"{name}={value!r} is none of {', '.join(CHOICES[name])}.")
    if least is not None and not least <= value < float("inf"):
        raise InputError(f"{name}={value} is out of range: it must be at least {least:g}.")
    if above is not None and not above < value < float("inf"):
        raise InputError(f"{name}={value} is out of range: it must be above {above:g}.")
    if not isinstance(value, str) and value > most:
        raise InputError(f"{name}={value} is out of range: it must be at most {most}.")
