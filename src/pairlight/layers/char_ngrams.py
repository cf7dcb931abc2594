"""Embeddings of words by their character n-grams: a word's vector is the sum of its n-grams' vectors."""

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.core.errors import InputError
from pairlight.layers.layer import Layer, embedding_parameter
from pairlight.layers.types import Seq, Tokens
from pairlight.text.tokenizer import PADDING


class CharNgramEmbedding(Layer):
    """x_t = sum of E[p] over the n-grams p of word t; one that occurs twice counts twice.   Tokens, .. -> Seq, ..

    A word without a known n-gram is the zero vector. Texts given together share the work: each distinct word is summed
    once. With `window` > 1, a word has one vector for each position it can have in a window of so many words,
    concatenated: see `windows_of_three`.
    """

    def __init__(self, vocab: int, dim: int, window: int = 1) -> None:
        self.window = window
        self.padding_id = PADDING
        self.weight = embedding_parameter(vocab, window * dim, PADDING)

    def forward(self, *texts: Tokens) -> list[Seq]:
        ngrams = texts[0].ngrams
        if ngrams is None:
            raise InputError("These texts have no character n-grams: tokenize them with an input of character n-grams.")
        ids = [text.ids.masked_fill(~text.mask, PADDING) for text in texts]  # word number 0 has no n-grams
        words, place = torch.unique(torch.cat([each.flatten() for each in ids]), return_inverse=True)
        rows = F.embedding_bag(ngrams[words], self.weight, mode="sum", padding_idx=PADDING)  # [distinct words, D]
        places = place.split([each.numel() for each in ids])
        return [
            Seq(F.embedding(at.view_as(text.ids), rows), text.mask, text.ids)  # [B, L, D]
            for at, text in zip(places, texts, strict=True)
        ]


def windows_of_three(x: Tensor) -> Tensor:
    """h_t = a_t + b_t+1 + c_t+2, where x_t = [a_t ; b_t ; c_t].   [B, L, 3·D] -> [B, L - 2, D]

    A convolution over three words, where x holds what each word contributes as the first, second and third of a window.
    """
    first, second, third = x.chunk(3, -1)
    return first[:, :-2] + second[:, 1:-1] + third[:, 2:]


def glorot_uniform(layer: Layer) -> None:
    """Draw every matrix uniformly within ±sqrt(6 / (rows + columns)); vectors stay as they are."""
    for parameter in layer.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    with torch.no_grad():
        for each in layer.all_layers():
            if isinstance(each, CharNgramEmbedding):
                # The matrix of a window has the n-grams of all its words as rows; the table has them side by side.
                rows, columns = each.weight.shape
                each.weight *= sqrt((rows + columns) / (each.window * rows + columns / each.window))
