"""ESIM: aligns each word with the other text by attention and encodes the comparison with a second LSTM."""

from typing import Unpack

from pairlight.layers.alignment import SoftAlignment, fused_comparison, mean_max_pool
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Dropout, Linear, ReLU, Sequential, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.interactions import Dot
from pairlight.layers.lstm import BiLSTM
from pairlight.layers.settings import Fraction, Size
from pairlight.layers.types import Array, Seq, Tokens, tile_left
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class ESIM(PairModel):
    """Encode both texts, align them word by word, compare each word with its alignment, and encode the comparisons.

    p_t  = BiLSTM1(x)_t,   q_t = BiLSTM1(y)_t
    s_ij = p_i·q_j
    p̃_i  = sum_j softmax_j(s_ij) q_j,   q̃_j = sum_i softmax_i(s_ij) p_i
    m_i  = [p_i ; p̃_i ; p_i - p̃_i ; p_i p̃_i], and likewise for the right text
    r    = BiLSTM2(relu(F m + f))
    z    = [mean r ; max r of the left text ; mean r ; max r of the right text]
    s    = w · tanh(W z + b) + c

    The sequential model, without trees; layers, sizes and training are those of the authors' code.

    Unlike the paper: one score instead of three classes; weights are initialized uniformly, not orthogonally; the max
    of r is over the words of a text, where the authors' code includes zeros for padding.

    Settings:
      hidden   hidden units of the LSTMs in each direction and of the hidden layers
      dropout  dropout probability of word vectors, comparisons, z and the hidden layer
    """

    paper = "Chen et al., ACL 2017"
    family = "interaction"
    inputs = WORDS
    paper_training = {"optimizer": "adam", "lr": 0.0004, "max_grad_norm": 10.0}

    def __init__(  # type: ignore[misc]  # declares an embedding setting to give it another default
        self, vocab: int, *, hidden: Size = 300, dropout: Fraction = 0.5, **embedding: Unpack[EmbeddingSettings]
    ) -> None:
        self.embed = WordEmbedding(vocab, dropout=dropout, **embedding)
        self.encode = BiLSTM(self.embed.dim, hidden)
        self.interact = Dot()
        self.align = SoftAlignment()
        self.project = Sequential(Linear(8 * hidden, hidden), ReLU(), Dropout(dropout))
        self.compose = BiLSTM(hidden, hidden)
        self.score = Sequential(
            Dropout(dropout), Linear(8 * hidden, hidden), Tanh(), Dropout(dropout), Linear(hidden, 1)
        )

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v = self.embed(left, right)
        left_u, v = self.encode(u), self.encode(v)
        u, v = tile_left(left_u, v)
        u_aligned, v_aligned = self.align(self.interact(u, v), u, v)
        z = array_namespace(u.x).cat([self.aggregate(left_u, u, u_aligned), self.aggregate(v, v, v_aligned)], -1)
        return self.score(z)[:, 0]

    def aggregate(self, whole: Seq, u: Seq, aligned: Seq) -> Array:
        m = fused_comparison(self.project, whole, u, aligned)
        return mean_max_pool(self.compose(m))  # [B, 4·hidden]
