"""Embeddings of words by their character n-grams: a word's vector is the sum of its n-grams' vectors."""

from math import sqrt

from pairlight.core.errors import InputError
from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, embedding_parameter
from pairlight.layers.types import Seq, Tokens
from pairlight.text.tokenizer import PADDING


class CharNgramEmbedding(Layer):
    """x_t = sum of E[p] over the n-grams p of word t, repeated n-grams included.   Tokens, .. -> Seq, ..

    A word without a known n-gram has a zero vector. Each distinct word of all texts given is computed once. With
    `window` > 1, a word has one vector for each position in a window of that many words, concatenated; `WindowMax` and
    `sum_windows` add them up to the convolution over the window.
    """

    def __init__(self, vocab: int, dim: int, window: int = 1) -> None:
        self.window = window
        self.padding_id = PADDING
        self.weight = embedding_parameter(vocab, window * dim, PADDING)

    def forward(self, *texts: Tokens) -> list[Seq]:
        ngrams = texts[0].ngrams
        if ngrams is None:
            raise InputError("These texts have no character n-grams: tokenize them with an input of character n-grams.")
        xp = array_namespace(self.weight)
        ids = [xp.where(text.mask, text.ids, PADDING).reshape(-1) for text in texts]  # word 0 has no n-grams
        words, at = xp.unique(xp.cat(ids))
        vectors = xp.embedding_sums(self.weight, ngrams[words], PADDING)  # [distinct words, D]
        found, first = [], 0
        for text, each in zip(texts, ids, strict=True):
            rows = at[first : first + len(each)].reshape(text.ids.shape)
            found.append(Seq(xp.rows(vectors, rows), text.mask, text.ids))  # [B, L, D]
            first += len(each)
        return found


def init_glorot_uniform(layer: Layer) -> None:
    """Initialize every matrix uniformly within ±sqrt(6 / (rows + columns)); vectors are not changed."""
    import torch
    from torch import nn

    for parameter in layer.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    with torch.no_grad():
        for each in layer.all_layers():
            if isinstance(each, CharNgramEmbedding):
                # The table has the parts of a window as columns, while the matrix of a convolution over the window has
                # them as rows, which gives another bound.
                rows, columns = each.weight.shape
                each.weight *= sqrt((rows + columns) / (each.window * rows + columns / each.window))
