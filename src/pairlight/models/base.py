"""What every model shares: the settings it was built with, what it reads, and how its weights begin."""

import inspect
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
from torch import Tensor, nn

from pairlight.data.pairs import Pairs
from pairlight.parts import Seq, Tokens
from pairlight.parts.embed import Words
from pairlight.text.tokenizer import Encoded


class PairModel(nn.Module):
    """Scores pairs of texts: `forward(left, right)` gives one number a pair, higher for a better match.

    A model is built with the size of its vocabulary and plain keywords; `settings` keeps them, defaults among them.
    """

    paper: ClassVar[str] = ""
    family: ClassVar[str] = "composition"  # or interaction, lexical
    view: ClassVar[str] = "words"  # what the model reads; pairlight.text.tokenizer.VIEWS
    parses: ClassVar[bool] = False  # whether brackets around a text are its parse to this model
    prepares_once: ClassVar[bool] = False  # whether its weights only make sense with what it was prepared with
    draws: ClassVar[bool] = True  # whether a word that frozen vectors lack gets one drawn at random; else it has 0
    pieces: ClassVar[int | None] = None  # how many of the most frequent words or pieces it reads; None reads all
    recipe: ClassVar[Mapping[str, Any]] = {}  # where its paper trains otherwise than the house does
    settings: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        if not args and not kwargs:  # copied or unpickled: the settings come with the rest
            return self
        bound = inspect.signature(cls.__init__).bind(self, *args, **kwargs)
        given = {name: value for name, value in bound.arguments.items() if name not in ("self", "vocab", "words")}
        self.__dict__["settings"] = defaults(cls) | given | bound.arguments.get("words", {})
        return self

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        raise TypeError(f"{type(self).__name__} has no forward: a model says how it scores a pair.")

    @property
    def reads(self) -> tuple[str, str] | None:
        """The settings that say how many words of a left and of a right text it reads; None where it reads them all."""
        return None

    def prepare(self, texts: Encoded, pairs: Pairs) -> None:
        """Take what the model needs to know of the training texts before its weights are trained."""

    def reset(self, scale: float) -> None:
        """Begin anew: matrices uniform within ±scale, vectors (biases, gates) at zero, as the papers' authors do."""
        with torch.no_grad():
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    parameter.uniform_(-scale, scale)
                else:
                    parameter.zero_()
            for module in self.modules():
                if isinstance(module, nn.Embedding) and module.padding_idx is not None:
                    module.weight[module.padding_idx] = 0

    def word_table(self) -> nn.Embedding | None:
        """The table of word vectors, where the model has one that can start from vectors trained elsewhere."""
        words = getattr(self, "words", None)
        return words.embed.table if isinstance(words, Words) else None


Reading = TypeVar("Reading", Seq, Tensor)  # what a text is read as: a vector for every position, or one vector


class Apart(PairModel, Generic[Reading]):
    """A model that reads each text by itself and then matches the two readings, so that a reading can be kept."""

    def left(self, tokens: Tokens) -> Reading:
        raise TypeError(f"{type(self).__name__} has no left: a model says how it reads a left text.")

    def right(self, tokens: Tokens) -> Reading:
        raise TypeError(f"{type(self).__name__} has no right: a model says how it reads a right text.")

    def match(self, u: Reading, v: Reading) -> Tensor:
        raise TypeError(f"{type(self).__name__} has no match: a model says how it matches two readings.")

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        return self.match(self.left(left), self.right(right))


def defaults(model: type[PairModel]) -> dict[str, Any]:
    """Every setting of a model with its default, those of its words last."""
    own = inspect.signature(model.__init__).parameters
    found = {name: p.default for name, p in own.items() if p.kind is p.KEYWORD_ONLY}
    if "words" in own:
        shared = inspect.signature(Words.__init__).parameters
        found = {name: p.default for name, p in shared.items() if p.kind is p.KEYWORD_ONLY} | found
        found = {name: found[name] for name in [*(n for n in own if n in found), *(n for n in shared if n in found)]}
    return found


def meanings(model: type[PairModel]) -> dict[str, str]:
    """What each setting means, read from the `Settings:` lines of the docstrings that declare it."""
    docs = [inspect.getdoc(model) or ""]
    if "words" in inspect.signature(model.__init__).parameters:
        docs.insert(0, inspect.getdoc(Words) or "")
    found: dict[str, str] = {}
    for doc in docs:
        _, _, listed = doc.partition("Settings:\n")
        found |= dict(re.findall(r"^  (\w+) +(\S.*)$", listed, re.MULTILINE))
    return {name: found[name] for name in defaults(model) if name in found}
