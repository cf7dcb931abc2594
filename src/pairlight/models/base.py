"""The base classes of models."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

from pairlight.data.pairs import Pairs
from pairlight.layers.basic import Linear
from pairlight.layers.bm25 import BM25Score
from pairlight.layers.embedding import WordEmbedding
from pairlight.layers.layer import Layer
from pairlight.layers.stored import StoredScorer
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.settings import declared_settings
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts

# How models without evidence train unless they say otherwise: loss, optimizer, learning rate, batch, four negatives and
# trained skip-gram vectors are those of the MV-LSTM paper; the number of epochs and the patience are ours.
PAPER_TRAINING: Mapping[str, Any] = {
    "loss": "hinge",
    "softmax_scale": 10.0,
    "optimizer": "adagrad",
    "lr": 0.03,
    "batch": 128,
    "epochs": 10,
    "patience": 3,
    "negatives_per_positive": 4,
    "vectors": "skip-gram",
    "freeze": False,
}


class PairModel(Layer):
    """Scores pairs of texts: `forward(left, right)` returns one score per pair, higher for a better match.

    A model is built with the size of its vocabulary and keyword arguments. `settings` holds all of them, including the
    defaults.
    """

    paper: ClassVar[str] = ""
    family: ClassVar[str] = "composition"  # or interaction, lexical
    inputs: InputSpec = InputSpec()  # how texts become ids, with default settings
    statistics_are_weights: ClassVar[bool] = False  # whether later training must keep what `fit_statistics` computed
    bounded_score: ClassVar[bool] = False  # whether scores have limits, so that losses of labels must rescale them
    takes_evidence: ClassVar[bool] = True  # whether the score is added to that of static vectors, by default
    reads_subwords: ClassVar[bool] = False  # whether texts are also read as subwords, for evidence
    training_defaults: ClassVar[Mapping[str, Any]] = {}  # training options that differ from the general defaults
    paper_training: ClassVar[Mapping[str, Any]] = {}  # those without evidence that differ from PAPER_TRAINING
    settings: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        if not args and not kwargs:  # copied or unpickled: the settings are restored with the other attributes
            return self
        bound = inspect.signature(cls.__init__).bind(self, *args, **kwargs)
        self.settings = {name: setting.default for name, setting in declared_settings(cls).items()}
        for name, value in bound.arguments.items():
            if name in self.settings:
                self.settings[name] = value
            elif bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                self.settings |= value
        return self

    @classmethod
    def training_options(cls, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """The default training options with these settings: those of the paper if `evidence` is off."""
        if cls.takes_evidence and not settings.get("evidence", True):
            return {**PAPER_TRAINING, **cls.paper_training}
        return cls.training_defaults

    @classmethod
    def input_spec(cls, settings: Mapping[str, Any]) -> InputSpec:
        """How texts become ids with these settings."""
        return cls.inputs

    def forward(self, left: Tokens, right: Tokens) -> Array:
        raise TypeError(f"{type(self).__name__} defines no forward.")

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        """Compute statistics of the training texts, before the weights are trained. Most models need none."""

    def tune_vectors(self, texts: TokenizedTexts) -> None:
        """Make static vectors trainable, for the subwords of these texts. Most models have none."""

    def prepare_state(self, state: Mapping[str, Any]) -> None:
        """Create arrays whose size depends on the training texts, before this state is loaded."""

    def slow_parameters(self) -> list[Any]:
        """The parameters that are trained at a tenth of the learning rate: static vectors."""
        return []

    def init_weights(self, scale: float) -> None:
        """Initialize matrices uniformly within ±scale, and vectors (biases, gates) with zeros."""
        import torch

        with torch.no_grad():
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    parameter.uniform_(-scale, scale)
                else:
                    parameter.zero_()
            for layer in self.all_layers():
                if hasattr(layer, "padding_id"):
                    layer.weight[layer.padding_id] = 0  # type: ignore[attr-defined]
                layer.adjust_start()

    @property
    def without_evidence(self) -> "PairModel":
        """The model itself, where evidence is added to its score."""
        return self

    def lexical_layer(self) -> BM25Score | None:
        """The layer that is the whole model, where a score is a sum over shared words; most models have none."""
        return None

    def linear_layer(self) -> Linear | None:
        """A layer that is fitted to the training pairs before the model is trained; most models have none."""
        return None

    def linear_features(self, left: Tokens, right: Tokens) -> Array:
        """The inputs of the linear layer: [B, D]."""
        raise TypeError(f"{type(self).__name__} has no linear layer of its own.")

    @property
    def word_vectors(self) -> Array | None:
        """The table of word vectors, if the model has one that can be initialized with pretrained vectors."""
        embed = getattr(self, "embed", None)
        return embed.embedding.weight if isinstance(embed, WordEmbedding) else None


Encoding = TypeVar("Encoding", Seq, Array)  # of a text: one vector per position, or a single vector


class DualEncoder(PairModel, Generic[Encoding]):
    """A model that encodes each text on its own and then matches the two encodings, so that encodings can be stored."""

    encodes_by_lookup: ClassVar[bool] = False  # whether encoding a text again is cheaper than keeping its encoding

    def encode_left(self, tokens: Tokens) -> Encoding:
        raise TypeError(f"{type(self).__name__} defines no encode_left.")

    def encode_right(self, tokens: Tokens) -> Encoding:
        raise TypeError(f"{type(self).__name__} defines no encode_right.")

    def match(self, u: Encoding, v: Encoding) -> Array:
        raise TypeError(f"{type(self).__name__} defines no match.")

    @property
    def stores_words(self) -> bool:
        """Whether only the words of a text are stored, because their vectors are looked up in a table."""
        return False

    def stored_scorer(self) -> StoredScorer | None:
        """Scores stored texts in one pass over them; None where their encodings are matched in batches."""
        return None

    def forward(self, left: Tokens, right: Tokens) -> Array:
        return self.match(self.encode_left(left), self.encode_right(right))
