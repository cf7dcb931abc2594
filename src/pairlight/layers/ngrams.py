"""Vectors of word n-grams of several lengths, and their cosine similarities."""

from dataclasses import replace

from pairlight.layers.backends import array_namespace
from pairlight.layers.convolution import Conv
from pairlight.layers.embedding import Embedding
from pairlight.layers.interactions import Interaction, unit
from pairlight.layers.layer import Layer
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, Grid, Seq, Tokens, masked_grid, tile_left


class NgramConv(Layer):
    """g_t = [g_t^1 ; g_t^2 ; ..], the n-grams of 1, 2, .. words that start at word t.   Seq -> Seq

    g_t^n = relu(W^n [x_t ; .. ; x_t+n-1] + b^n), with zero vectors after the end of the text.
    """

    def __init__(self, dim: int, filters: int, grams: int) -> None:
        self.convs = [Conv(dim, filters, n + 1) for n in range(grams)]

    def forward(self, u: Seq) -> Seq:
        B, L, D = u.x.shape
        at = array_namespace(u.x).arange(B * L, u.x).reshape(B, L)
        return self.of_words(u.with_x(u.x).x.reshape(B * L, D), at, u)

    def of_words(self, words: Array, at: Array, u: Seq) -> Seq:
        """The n-grams of texts whose word at each position is a row of words[N,D]."""
        xp = array_namespace(words)
        # W^n [x_t ; .. ; x_t+n-1] is a sum of products with one word each, so every word is multiplied once.
        weights, biases = ([getattr(conv.filters, name) for conv in self.convs] for name in ("weight", "bias"))
        weight = xp.cat([xp.transpose(w.reshape(len(w), -1, words.shape[1]), 0, 1) for w in weights])  # [parts, F, D]
        bias = xp.cat([xp.pad(b[None], [(0, n), (0, 0)]) for n, b in enumerate(biases)])  # added with the first word
        parts = xp.add_product(bias.reshape(-1), words, weight.reshape(-1, words.shape[1]))
        return Seq(xp.ngram_sums(parts, xp.where(u.mask, at, -1), len(self.convs)), u.mask, u.ids)


def fused_ngrams(embedding: Embedding, encode: NgramConv, tokens: Tokens, u: Seq) -> Seq:
    """encode(u) for u = embedding(tokens), with one product for each distinct word of the batch.

    Layers that are watched by a trace run one after the other; with dropout, no two vectors of a word are equal.
    """
    if is_watched(embedding, encode) or (embedding.training and embedding.dropout):
        y: Seq = encode(u)
        return y
    xp = array_namespace(tokens.ids)
    ids, at = xp.unique(xp.where(tokens.mask, tokens.ids, embedding.padding_id))
    words: Seq = embedding(replace(tokens, ids=ids[None], mask=(ids != embedding.padding_id)[None]))
    return encode.of_words(words.with_x(words.x).x[0], at, u)


class NgramCosine(Interaction):
    """s_ij^ab = cosine of g_i^a and g_j^b, one channel for each pair of lengths, ordered by a, then b.   -> Grid"""

    def __init__(self, grams: int) -> None:
        self.grams, self.channels = grams, grams**2

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(self.normalize(u), self.normalize(v))
        B, L, R, G = len(v.x), u.x.shape[1], v.x.shape[1], self.grams
        # All lengths next to each other: one matrix product for each pair of texts instead of one for each channel.
        xp = array_namespace(u.x)
        s = xp.matmul(u.x.reshape(B, L * G, -1), xp.transpose(v.x.reshape(B, R * G, -1), 1, 2))
        s = xp.permute(s.reshape(B, L, G, R, G), (0, 2, 4, 1, 3)).reshape(B, G * G, L, R)
        return masked_grid(u, v, s)

    def normalize(self, u: Seq) -> Seq:
        """Every n-gram vector with length 1."""
        return u.with_x(unit(self.split(u)).reshape(u.x.shape))

    def split(self, u: Seq) -> Array:
        """The n-gram vectors of each length: [B, L, grams, D]."""
        return u.x.reshape(*u.x.shape[:2], self.grams, -1)
