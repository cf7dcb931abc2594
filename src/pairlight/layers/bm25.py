"""BM25: the lexical score of a document for a query."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, buffer
from pairlight.layers.types import Array, Tokens


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
        scores = self.idf[xp.clip(words, high=self.vocab)] * tf / (tf + self.saturation(right)[:, None])
        return xp.where(mask, scores, 0)

    def saturation(self, right: Tokens) -> Array:
        """k1 (1 - b + b m / average m): the term frequency at which a word adds half of its idf.   [B]"""
        lengths = array_namespace(right.ids).cast(right.lengths, self.idf)
        return self.k1 * (1 - self.b + self.b * lengths / self.average_length)
