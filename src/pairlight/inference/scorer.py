"""The Scorer protocol, which ranking, evaluation, explanation and search depend on, and its implementation."""

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.core.progress import Progress
from pairlight.data.pairs import Pairs
from pairlight.inference.encodings import Encodings, check_dtype, encode_right_texts
from pairlight.inference.scoring import TextNumbers, score_pairs, to_numpy
from pairlight.inference.stored_scoring import score_encodings
from pairlight.layers.backends import array_namespace
from pairlight.models.base import DualEncoder, PairModel
from pairlight.text.checks import check_text, check_texts
from pairlight.text.subwords import SUBWORDS, subword_limit
from pairlight.text.tokenizer import OovVectors, TokenizedTexts, Tokenizer
from pairlight.text.vocabulary import AnyTokenizer

Scores = NDArray[np.float32]
OovSource = Callable[[Mapping[int, str]], OovVectors]  # from out-of-vocabulary words by their ids
_NO_TEXTS = np.zeros(0, np.int64)


class Scorer(Protocol):
    """Scores pairs of texts, higher for a better match."""

    name: str
    tokenizer: AnyTokenizer
    max_length: int  # words of a text that are read

    @property
    def left_length(self) -> int:
        """How many words of a left text the model reads, at most `max_length`."""
        ...

    @property
    def right_length(self) -> int:
        """How many words of a right text the model reads, at most `max_length`."""
        ...

    def score(self, left: Sequence[str], right: Sequence[str]) -> Scores:
        """The score of each pair left[i], right[i]."""
        ...

    def score_pairs(self, pairs: Pairs) -> Scores:
        """The score of each pair of a table, whose distinct texts are tokenized once."""
        ...

    def score_tokenized(self, texts: TokenizedTexts, left: TextNumbers, right: TextNumbers) -> Scores:
        """The score of each pair of text numbers."""
        ...

    def encode_right(self, texts: Sequence[str], *, dtype: str = "fp32", progress: Progress | None = None) -> Encodings:
        """Encode right texts once, to score them with many left texts."""
        ...

    def score_encoded(self, query: str, encodings: Encodings, top_k: int | None = None) -> Scores:
        """The score of the query with every encoded text; with `top_k`, LEFT_OUT for some not among the best."""
        ...

    def fingerprint(self) -> str:
        """Identifies the model with its vocabulary, settings and limits; encodings of another one are refused."""
        ...


class ModelScorer:
    """A Scorer for a model, in PyTorch or on NumPy without it."""

    def __init__(
        self,
        name: str,
        model: PairModel,
        tokenizer: AnyTokenizer,
        max_length: int,
        oov_vectors: OovSource | None = None,
    ) -> None:
        self.name, self.model, self.tokenizer, self.max_length = name, model, tokenizer, max_length
        self.oov_vectors = oov_vectors  # where out-of-vocabulary words have vectors of their own
        self._fingerprint: tuple[tuple[tuple[int, int], ...], str] | None = None

    @property
    def left_length(self) -> int:
        return self._length(0)

    @property
    def right_length(self) -> int:
        return self._length(1)

    def _length(self, side: int) -> int:
        names = self.model.inputs.max_lengths
        return self.max_length if names is None else min(self.max_length, self.model.settings[names[side]])

    def score(self, left: Sequence[str], right: Sequence[str]) -> Scores:
        return self.score_pairs(Pairs.of(left, right))

    def score_pairs(self, pairs: Pairs) -> Scores:
        return self.score_tokenized(self.tokenize(pairs.texts, pairs.left, pairs.right), pairs.left, pairs.right)

    def score_tokenized(self, texts: TokenizedTexts, left: TextNumbers, right: TextNumbers) -> Scores:
        return score_pairs(self.model, texts, left, right)

    def encode_right(self, texts: Sequence[str], *, dtype: str = "fp32", progress: Progress | None = None) -> Encodings:
        check_dtype(dtype)
        check_texts(texts)
        model, tokenized = self._dual_encoder(), self.tokenize(texts, _NO_TEXTS, np.arange(len(texts)))
        return encode_right_texts(
            model, tokenized, texts, dtype, name=self.name, fingerprint=self.fingerprint(), progress=progress
        )

    def score_encoded(self, query: str, encodings: Encodings, top_k: int | None = None) -> Scores:
        check_text("query", query)
        model = self._dual_encoder()
        if encodings.fingerprint != self.fingerprint():
            raise InputError(
                f"These encodings were made by another model ({encodings.model}): "
                "rank with that model, or encode the texts again with this one."
            )
        return score_encodings(model, self.tokenize([query], np.arange(1), _NO_TEXTS), encodings, top_k)

    def tokenize(self, texts: Sequence[str], left: TextNumbers, right: TextNumbers) -> TokenizedTexts:
        """These texts as ids, with a warning where some are truncated; `left` and `right` say how each is used."""
        tokenized = self.token_ids(texts)
        limits = {"max_length": (self.max_length, tokenized.truncated)}  # the limit, and how many texts exceed it
        names = self.model.inputs.max_lengths or ()
        for name in dict.fromkeys(names):
            numbers = np.concatenate([side for side, own in zip((left, right), names, strict=True) if own == name])
            limit = self.model.settings[name]
            limits[name] = limit, int(np.sum(tokenized.lengths[np.unique(numbers)] > limit))
        exceeded = [f"{n} of {len(texts)} texts have more than {limit} words" for limit, n in limits.values() if n]
        if exceeded:
            low = [
                name for name, (limit, n) in limits.items() if n or (limit == self.max_length and tokenized.truncated)
            ]
            warnings.warn(
                f"{', '.join(exceeded)} and were truncated; train with a higher {' and '.join(low)} to read more.",
                stacklevel=3,
            )
        return tokenized

    def token_ids(self, texts: Sequence[str]) -> TokenizedTexts:
        """These texts as ids: as the model reads them, and as subwords where it has evidence."""
        tokenized = self.tokenizer.tokenize(texts, self.max_length)
        if self.oov_vectors is not None and isinstance(self.tokenizer, Tokenizer):
            owner = np.repeat(np.arange(len(texts)), tokenized.lengths)
            with_oov = np.unique(owner[tokenized.ids >= self.tokenizer.vocab_size]).tolist()
            words = self.tokenizer.oov_words([texts[t] for t in with_oov], self.max_length)
            tokenized = replace(tokenized, oov=self.oov_vectors(words))
        if not self.model.reads_subwords:
            return tokenized
        if isinstance(self.tokenizer, Tokenizer) and self.tokenizer.inputs.parse_brackets:
            texts = [self.tokenizer.without_brackets(text) for text in texts]
        return replace(tokenized, subwords=SUBWORDS.tokenize(texts, subword_limit(self.max_length)))

    def truncated(self, texts: Sequence[str], tokenized: TokenizedTexts, limit: int) -> NDArray[np.bool_]:
        """Which of these texts, tokenized up to this limit, have more words."""
        found = np.zeros(len(texts), np.bool_)
        if tokenized.truncated:
            # Of those as long as the limit, some fit exactly, and the count is of all together.
            for t in np.flatnonzero(tokenized.lengths >= limit).tolist():
                found[t] = self.tokenizer.tokenize([texts[t]], limit).truncated > 0
        return found

    def fingerprint(self) -> str:
        weights = self.model.state_dict()
        # A weight that is written to has another version, so the digest is computed again only then.
        state = tuple(array_namespace(array).version(array) for array in weights.values())
        if self._fingerprint is None or self._fingerprint[0] != state:
            digest = hashlib.sha256(json.dumps([self.name, self.model.settings, self.max_length]).encode())
            digest.update(self.tokenizer.to_bytes())
            for name, array in weights.items():
                digest.update(name.encode() + to_numpy(array).tobytes())
            self._fingerprint = state, digest.hexdigest()
        return self._fingerprint[1]

    def _dual_encoder(self) -> DualEncoder[Any]:
        if not isinstance(self.model, DualEncoder):
            raise InputError(
                f"{self.name} reads its two texts together, so it cannot encode one of them: "
                "score pairs, or choose a model that encodes texts independently, such as mv-lstm."
            )
        return self.model
