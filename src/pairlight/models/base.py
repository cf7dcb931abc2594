"""The base classes of models: the settings a model was built with, what it reads, and how its weights start."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
from torch import Tensor

from pairlight.data.pairs import Pairs
from pairlight.layers.embedding import WordEmbedding
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.settings import model_settings
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts


class PairModel(Layer):
    """Scores pairs of texts: `forward(left, right)` gives one score per pair, higher for a better match.

    A model is built with the size of its vocabulary and plain keyword arguments; `settings` holds them, with defaults.
    """

    paper: ClassVar[str] = ""
    family: ClassVar[str] = "composition"  # or interaction, lexical
    inputs: InputSpec = InputSpec()  # what the model reads
    statistics_are_weights: ClassVar[bool] = False  # whether `fit_statistics` sets weights that must not change later
    training_defaults: ClassVar[Mapping[str, Any]] = {}  # training options that differ from pairlight's defaults
    settings: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        if not args and not kwargs:  # copied or unpickled: the settings come with the rest
            return self
        bound = inspect.signature(cls.__init__).bind(self, *args, **kwargs)
        self.settings = {name: setting.default for name, setting in model_settings(cls).items()}
        for name, value in bound.arguments.items():
            if name in self.settings:
                self.settings[name] = value
            elif bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                self.settings |= value
        return self

    def forward(self, left: Tokens, right: Tokens) -> Array:
        raise TypeError(f"{type(self).__name__} defines no forward.")

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        """Compute what the model needs to know of the training texts before its weights are trained."""

    def init_weights(self, scale: float) -> None:
        """Initialise: matrices uniform within ±scale, vectors (biases, gates) zero."""
        with torch.no_grad():
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    parameter.uniform_(-scale, scale)
                else:
                    parameter.zero_()
            for layer in self.all_layers():
                if hasattr(layer, "padding_id"):
                    layer.weight[layer.padding_id] = 0  # type: ignore[attr-defined]

    @property
    def word_vectors(self) -> Tensor | None:
        """The table of word vectors, where the model has one that can start from pretrained vectors."""
        embed = getattr(self, "embed", None)
        return embed.embedding.weight if isinstance(embed, WordEmbedding) else None


Encoding = TypeVar("Encoding", Seq, Tensor)  # what a text is encoded as: a vector per position, or one vector


class DualEncoder(PairModel, Generic[Encoding]):
    """A model that encodes each text independently and then matches the two encodings, so that these can be stored."""

    def encode_left(self, tokens: Tokens) -> Encoding:
        raise TypeError(f"{type(self).__name__} defines no encode_left.")

    def encode_right(self, tokens: Tokens) -> Encoding:
        raise TypeError(f"{type(self).__name__} defines no encode_right.")

    def match(self, u: Encoding, v: Encoding) -> Array:
        raise TypeError(f"{type(self).__name__} defines no match.")

    def forward(self, left: Tokens, right: Tokens) -> Array:
        return self.match(self.encode_left(left), self.encode_right(right))
