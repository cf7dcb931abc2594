"""ESIM: each word seeks its like in the other text, and what they differ in is read once more."""

from typing import Unpack

import torch
from torch import Tensor

from pairlight.layers.alignment import aligned, contrasted, mean_and_max
from pairlight.layers.basic import Dropout, Linear, ReLU, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.interactions import Dot
from pairlight.layers.lstm import BiLSTM
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.types import Seq, Tokens, tile_left
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class ESIM(PairModel):
    """Read both texts, align them word by word, contrast each word with what it found, and read the contrasts.

    p_t  = BiLSTM1(x)_t,   q_t = BiLSTM1(y)_t
    s_ij = p_i·q_j
    p̃_i  = sum_j softmax_j(s_ij) q_j,   q̃_j = sum_i softmax_i(s_ij) p_i
    m_i  = [p_i ; p̃_i ; p_i - p̃_i ; p_i p̃_i], of the right text alike
    r    = BiLSTM2(relu(F m + f))
    z    = [mean r ; largest r of the left text ; mean r ; largest r of the right text]
    s    = w · tanh(W z + b) + c

    The sequential model without trees; layers, sizes and training are those of the authors' code.

    Unlike the paper: one score in place of three classes; weights start uniform, not orthogonal; the largest r is
    taken over a text's own words, where the authors' code lets a 0 in with the padding.

    Settings:
      hidden   size of the LSTMs' states in each direction and of the hidden layers
      dropout  share silenced in training of word vectors, contrasts, z and the hidden layer
    """

    paper = "Chen et al., ACL 2017"
    family = "interaction"
    inputs = WORDS
    training_defaults = {"optimizer": "adam", "lr": 0.0004, "max_grad_norm": 10.0}

    def __init__(  # type: ignore[misc]  # an embedding setting with a default of this model's own
        self, vocab: int, *, hidden: Size = 300, dropout: Fraction = 0.5, **embedding: Unpack[EmbeddingSettings]
    ) -> None:
        self.embed = WordEmbedding(vocab, dropout=dropout, **embedding)
        self.encode = BiLSTM(self.embed.dim, hidden)
        self.interact = Dot()
        self.project = Sequential(Linear(8 * hidden, hidden), ReLU(), Dropout(dropout))
        self.compose = BiLSTM(hidden, hidden)
        self.score = Sequential(
            Dropout(dropout), Linear(8 * hidden, hidden), Tanh(), Dropout(dropout), Linear(hidden, 1)
        )

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.embed(left, right)
        u, v = tile_left(self.encode(u), self.encode(v))
        u_found, v_found = aligned(self.interact(u, v), u, v)
        z = torch.cat([self.aggregate(u, u_found), self.aggregate(v, v_found)], -1)
        return self.score(z)[:, 0]

    def aggregate(self, u: Seq, found: Seq) -> Tensor:
        m = contrasted(u, found)
        return mean_and_max(self.compose(m.with_x(self.project(m.x))))  # [B, 4·hidden]
