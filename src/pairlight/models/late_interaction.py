"""Late interaction: compares all subwords (or words) of two texts by static vectors; it ranks well untrained."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.kernels.native.pair_features import WordTable
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.evidence import FEATURES, PairFeatures, scaled_idf, start_linear, subword_idf
from pairlight.layers.heads import MLP, kernel_head
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.stored import StoredScorer, WordsScorer
from pairlight.layers.subwords import DIM, ProjectedEmbedding, ProjectedWords, TokenWeights
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import SPECIAL, TokenizedTexts

Units = Literal["subwords", "words"]


class LateInteraction(DualEncoder[Seq]):
    """Compare every subword of one text with every subword of the other.

    x_t  = P (E + D)[w_t], static vectors E trained for sentences; P starts as the identity and D at zero
    r_t  = |ρ[w_t]|, how much a subword counts; starts as its idf
    f    = the features of `PairFeatures`: similarity of the texts, words with a similar or the same word on the other
           side weighted by r, BM25, lengths, and the k largest cosines of two subwords
    s    = v·f + c + w·relu(W f + b), with v starting at a scorer that ranks well and w at zero

    v is fitted to the training pairs first, then all but E is trained, D at a tenth of the learning rate and only for
    subwords of the training texts. With freeze=true, D stays zero.

    With units=words, w_t is a word, E has the word vectors of the training option `vectors`, kept as they are by
    default, and D is zero; words that training never saw count as rare ones.

    This model is ours: the idea of late interaction is that of ColBERT (Khattab and Zaharia, SIGIR 2020), on static
    vectors in place of a transformer. The vectors E come from the package wordllama.

    Settings:
      units    what is compared: subwords, or words
      dim      size of a word vector, with units=words
      k        number of largest similarities that enter the score
      hidden   hidden units of the network that corrects the linear score
      dropout  share of the entries of each vector set to zero in a training step
    """

    paper = "pairlight, after Khattab and Zaharia, SIGIR 2020"
    family = "interaction"
    inputs = InputSpec(input_kind="subwords")
    takes_evidence = False  # it is made of the same features
    encodes_by_lookup = True
    statistics_are_weights = True  # the idf is where the weights of subwords start
    training_defaults = {"max_length": 64, "freeze": False}

    def __init__(
        self,
        vocab: int,
        *,
        units: Annotated[str, Units] = "subwords",
        dim: Size = DIM,
        k: Size = 10,
        hidden: Size = 32,
        dropout: Fraction = 0.2,
    ) -> None:
        self.embed: ProjectedEmbedding | ProjectedWords
        if units == "words":
            self.inputs = self.input_spec(self.settings)
            self.embed = ProjectedWords(vocab, dim, dropout)
        elif dim == DIM:
            self.embed = ProjectedEmbedding(dropout)
        else:
            raise InputError(f"dim={dim}, but the vectors of subwords have {DIM} dimensions: leave it out.")
        self.weights = TokenWeights(vocab)
        self.features = PairFeatures(k)
        self.linear, self.score = Linear(len(FEATURES) + k, 1), MLP(len(FEATURES) + k, hidden)

    @classmethod
    def input_spec(cls, settings: Mapping[str, Any]) -> InputSpec:
        if settings.get("units") == "words":
            return InputSpec(pretrained_vectors=True, random_oov=False)
        return cls.inputs

    @classmethod
    def training_options(cls, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        if settings.get("units") == "words":
            return {"max_length": 64, "normalize": False}  # the length of a static vector says how much its word counts
        return cls.training_defaults

    def init_weights(self, scale: float) -> None:
        self.embed.adjust_start()
        # On NumPy, where nothing is trained, there are no parameters: all other weights stay zero.
        with array_namespace(self.linear.weight).no_grad():
            for array in self.score.out.parameters():
                array.zero_()
            if isinstance(self.embed, ProjectedWords):
                for array in self.embed.embedding.parameters():
                    array.uniform_(-scale, scale)
                    array[: len(SPECIAL)] = 0
        start_linear(self.linear)
        self.weights.set(self._idf(np.zeros(len(self.weights.weight), np.int64), 0))

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        numbers, rights = np.unique(np.concatenate([pairs.left, pairs.right])), np.unique(pairs.right)
        frequency = document_frequency(texts, numbers, len(self.weights.weight))[:-1]
        self.weights.set(self._idf(frequency, len(numbers)))
        self.features.set_average_length(float(texts.lengths[rights].mean()))

    def _idf(self, frequency: Any, texts: int) -> np.ndarray:
        words = isinstance(self.embed, ProjectedWords)
        return scaled_idf(frequency, texts + 1) if words else subword_idf(frequency, texts)

    def tune_vectors(self, texts: TokenizedTexts) -> None:
        if isinstance(self.embed, ProjectedEmbedding):
            self.embed.tune(np.unique(texts.ids))

    def prepare_state(self, state: Mapping[str, Any]) -> None:
        if isinstance(self.embed, ProjectedEmbedding) and "embed.rows" in state:
            rows = np.asarray(state["embed.rows"])
            if rows.dtype != np.int64 or not np.array_equal(rows, np.unique(rows)):
                raise ValueError("embed.rows is not a list of distinct numbers in ascending order")
            if len(rows) and not 0 <= rows[0] <= rows[-1] < len(self.weights.weight):
                raise ValueError("embed.rows has a number that is not that of a subword")
            self.embed.tune(rows)

    @property
    def word_vectors(self) -> Array | None:
        return self.embed.embedding.weight if isinstance(self.embed, ProjectedWords) else None

    def slow_parameters(self) -> list[Any]:
        if isinstance(self.embed, ProjectedWords):
            return [self.embed.embedding.weight] if self.embed.embedding.weight.requires_grad else []
        return [] if self.embed.change is None else [self.embed.change]

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.embed(tokens)

    encode_right = encode_left

    def match(self, u: Seq, v: Seq) -> Array:
        return self._score(self.features(u, v, self.weights(u), self.weights(v)))

    @property
    def stores_words(self) -> bool:
        return isinstance(self.embed, ProjectedEmbedding)

    def stored_scorer(self) -> StoredScorer | None:
        embed, weight = self.embed, self.weights.weight
        if not isinstance(embed, ProjectedEmbedding) or not self.features.can_fuse(weight, embed, self.weights):
            return None
        to_numpy = array_namespace(weight).to_numpy

        def table(words: Tokens) -> WordTable:
            return WordTable(*map(to_numpy, (*embed.unit_rows(words), self.weights.of_vocabulary())))

        head = kernel_head(self.linear, self.score)
        return WordsScorer(table, float(self.features.average_length), self.features.k, head)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        return self._score(self.linear_features(left, right))

    def linear_layer(self) -> Linear:
        return self.linear

    def linear_features(self, left: Tokens, right: Tokens) -> Array:
        embed = self.embed
        # The kernel needs a table of all tokens, which words that training never saw are not in.
        if isinstance(embed, ProjectedEmbedding) and self.features.can_fuse(self.weights.weight, embed, self.weights):
            words = WordTable(*embed.unit_rows(left, right), self.weights.of_vocabulary())
            return self.features.of_tokens(words, left, right)
        u, v = self.encode_left(left), self.encode_right(right)
        f: Array = self.features(u, v, self.weights(u), self.weights(v))
        return f

    def _score(self, f: Array) -> Array:
        return self.linear(f)[:, 0] + self.score(f)
