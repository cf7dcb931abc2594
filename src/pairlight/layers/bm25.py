"""BM25: the lexical score of a document for a query."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, buffer
from pairlight.layers.types import Array, Tokens
from pairlight.text.tokenizer import TokenizedTexts


class BM25Score(Layer):
    """s = sum over the words t of the left text of idf(t) tf / (tf + k1 (1 - b + b m / average m)).

    tf is the number of times that t occurs in the right text, and m is its length.   Tokens, Tokens -> [B]
    """

    def __init__(self, vocab: int, k1: float, b: float) -> None:
        self.vocab, self.k1, self.b = vocab, k1, b
        self.idf = buffer(vocab + 1)  # the last one is for words not in the vocabulary
        self.average_length = buffer(fill=1.0)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        return self.term_scores(left, right).sum(1)

    def term_scores(self, left: Tokens, right: Tokens) -> Array:
        """What each word of the left text adds to the score: [B, L]."""
        xp = array_namespace(left.ids)
        times = len(right.ids) // len(left.ids)
        words, mask = xp.tile(left.ids, times), xp.tile(left.mask, times)  # [B, L]
        same = (words[:, :, None] == right.ids[:, None, :]) & right.mask[:, None, :]  # [B, L, R]
        tf = xp.cast(same.sum(2), self.idf)  # [B, L]
        lengths = xp.cast(right.lengths, self.idf)[:, None]
        weight = self._weight(tf, lengths, self.average_length)
        return xp.where(mask, self.idf[xp.clip(words, high=self.vocab)] * weight, 0)

    def index_scores(self, texts: TokenizedTexts, left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float32]:
        """The scores of pairs of texts by an inverted index of the right ones, which reads only shared words: [B]."""
        if not len(left):
            return np.zeros(0, np.float32)
        to_numpy = array_namespace(self.idf).to_numpy
        idf, average = to_numpy(self.idf).astype(np.float64), float(to_numpy(self.average_length))
        documents, document = np.unique(right, return_inverse=True)  # [B] the document of each pair
        lengths = texts.lengths[documents]
        words, at = _rows(texts, documents), np.repeat(np.arange(len(documents)), lengths)
        asked = np.isin(words, _rows(texts, np.unique(left)))
        # One posting for each distinct word of a document, sorted by word: the document, and how often it has the word.
        keys, tf = np.unique(words[asked] * np.int64(len(documents)) + at[asked], return_counts=True)
        posting_word, posting_document = np.divmod(keys, len(documents))
        weight = self._weight(tf, lengths[posting_document], average)
        scores = np.zeros(len(left), np.float64)
        queries, query = np.unique(left, return_inverse=True)
        order = np.argsort(query, kind="stable")
        ends = np.searchsorted(query[order], np.arange(len(queries)), "right")
        found = np.zeros(len(documents), np.float64)
        for number, pairs in zip(queries.tolist(), np.split(order, ends[:-1]), strict=True):
            found[:] = 0
            for word in texts.ids[texts.start[number] : texts.start[number + 1]].tolist():
                a, b = np.searchsorted(posting_word, [word, word + 1])
                found[posting_document[a:b]] += idf[min(word, self.vocab)] * weight[a:b]
            scores[pairs] = found[document[pairs]]
        return scores.astype(np.float32)

    def _weight(self, tf: Any, lengths: Any, average: Any) -> Any:
        """The share of its idf that a word adds: a half if tf = k1 (1 - b + b m / average m)."""
        return tf / (tf + self.k1 * (1 - self.b + self.b * lengths / average))


def _rows(texts: TokenizedTexts, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """The words of these texts, text after text."""
    lengths = texts.lengths[numbers]
    first = np.cumsum(lengths) - lengths
    at = np.arange(int(lengths.sum())) + np.repeat(texts.start[numbers] - first, lengths)
    return texts.ids[at].astype(np.int64)
