"""Words come in as the pieces they are spelt with: a word is the sum of its pieces' rows, summed once a batch."""

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.errors import InputError
from pairlight.parts import Seq, Tokens
from pairlight.text.tokenizer import PADDING


class Spelt(nn.Module):
    """x_t = sum of E[p] over the pieces p of word t, a piece that comes twice counted twice.   Tokens, .. -> Seq, ..

    This is E times the word's count of every piece; a word with no known piece is the zero vector. Texts given
    together share the work: each distinct word is summed once. With a `window`, a word has a vector for each of its
    places in a window of so many words, one behind the other: see `windows_of_three`.
    """

    def __init__(self, vocab: int, dim: int, window: int = 1) -> None:
        super().__init__()
        self.window = window
        self.table = nn.EmbeddingBag(vocab, window * dim, mode="sum", padding_idx=PADDING)

    def forward(self, *texts: Tokens) -> list[Seq]:
        letters = texts[0].letters
        if letters is None:
            raise InputError("These texts came without their words' spelling: encode them with a view of letters.")
        ids = [text.ids.masked_fill(~text.mask, PADDING) for text in texts]  # word number 0 has no pieces
        words, place = torch.unique(torch.cat([each.flatten() for each in ids]), return_inverse=True)
        rows = self.table(letters[words])  # [distinct words, D]
        places = place.split([each.numel() for each in ids])
        return [
            Seq(F.embedding(at.view_as(text.ids), rows), text.mask, text.ids)  # [B, L, D]
            for at, text in zip(places, texts, strict=True)
        ]


def windows_of_three(x: Tensor) -> Tensor:
    """h_t = a_t + b_t+1 + c_t+2, where x_t = [a_t ; b_t ; c_t].   [B, L, 3·D] -> [B, L - 2, D]

    A convolution over three words, where x is what each word gives as the first, second and third word of a window.
    """
    first, second, third = x.chunk(3, -1)
    return first[:, :-2] + second[:, 1:-1] + third[:, 2:]


def glorot(module: nn.Module) -> None:
    """Start every matrix uniform within ±sqrt(6 / (rows + columns)) and leave the vectors as they are."""
    for parameter in module.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, Spelt):
                # The matrix of a window has the pieces of all its words as rows, where the table has them side by side.
                pieces, columns = part.table.weight.shape
                part.table.weight *= sqrt((pieces + columns) / (part.window * pieces + columns / part.window))
