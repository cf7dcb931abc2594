"""Embeddings of words by their character n-grams: a word's vector is the sum of its n-grams' vectors."""

from math import sqrt

import torch
from torch import nn
from torch.nn import functional as F

from pairlight.core.errors import InputError
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
        ids = [text.ids.masked_fill(~text.mask, PADDING) for text in texts]  # word 0 has no n-grams
        words, inverse = torch.unique(torch.cat([each.flatten() for each in ids]), return_inverse=True)
        vectors = F.embedding_bag(ngrams[words], self.weight, mode="sum", padding_idx=PADDING)  # [distinct words, D]
        rows = inverse.split([each.numel() for each in ids])
        return [
            Seq(F.embedding(row.view_as(text.ids), vectors), text.mask, text.ids)  # [B, L, D]
            for row, text in zip(rows, texts, strict=True)
        ]


def init_glorot_uniform(layer: Layer) -> None:
    """Initialize every matrix uniformly within ±sqrt(6 / (rows + columns)); vectors are not changed."""
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
