"""Term weights from inverse document frequencies: rare words of the left text count more."""

from typing import Any

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, buffer, parameter
from pairlight.layers.types import Array, Seq, Tokens


class IdfSoftmax(Layer):
    """g_i = exp(idf_i) / sum_l exp(idf_l) over the words of a text.   Tokens or Seq -> [B, L]"""

    def __init__(self, vocab: int) -> None:
        self.idf = buffer(vocab + 1)  # the last one is for words not in the vocabulary

    def forward(self, text: Tokens | Seq) -> Array:
        return masked_softmax(self.word_idf(text), text.mask)

    def set_idf(self, idf: Any) -> None:
        """Copy the idf of every word: [vocab + 1]."""
        array_namespace(self.idf).copy_into(self.idf, idf)

    def word_idf(self, text: Tokens | Seq) -> Array:
        """The idf of every word, arbitrary under padding: [B, L]."""
        return self.idf[array_namespace(text.ids).clip(text.ids, high=len(self.idf) - 1)]


class IdfGate(IdfSoftmax):
    """g_i = exp(w idf_i) / sum_l exp(w idf_l) over the words of a text, with a learned w.   Tokens or Seq -> [B, L]"""

    def __init__(self, vocab: int) -> None:
        super().__init__(vocab)
        self.weight = parameter(1, bound=0)

    def forward(self, text: Tokens | Seq) -> Array:
        return masked_softmax(self.weight * self.word_idf(text), text.mask)


def masked_softmax(x: Array, mask: Array) -> Array:
    """The softmax over the words of each text: [B, L]."""
    xp = array_namespace(x)
    g: Array = xp.softmax(xp.where(mask, x, -float("inf")), 1)
    return g
