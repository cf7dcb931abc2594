"""PACRR: for each question word its strongest matches, alone and among its neighbours, read by a tiny LSTM."""

from dataclasses import replace
from typing import Unpack, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import document_frequency
from pairlight.layers.attention import embed_with_attention
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_conv import GridConv
from pairlight.layers.layer import buffer
from pairlight.layers.lstm import LSTM, last_state
from pairlight.layers.settings import Size
from pairlight.layers.types import Grid, Tokens, tile_left
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts


class PACRR(PairModel):
    """Keep each question word's strongest matches, alone and among its neighbours; read them in the question's order.

    s_ij  = cosine of x_i and y_j; 1 for the same word, 0 where one is unknown or has no vector
    c1    = s,   cn = the largest map of relu(Wn * s + bn), n x n windows centred on every cell, for n = 2 .. grams
    p_i   = [softmax(idf)_i ; k largest of row i of c1 ; .. ; k largest of row i of c_grams], largest first
    s     = output of an LSTM with one unit after the left text's last word, reading p_1 .. p_n
    idf   = ln(1 + (N - df + 0.5) / (df + 0.5)), N right texts in training, df of them with the word

    An even window reaches one further to the right and down. A row with fewer than k words is filled up with zeros.

    Unlike the paper: texts are not brought to a fixed length, so the LSTM ends with the left text's own last word and
    right texts are read whole; its gates are sigmoids, not their piecewise linear form; the idf is that of our BM25;
    AdaGrad, which needs fewer epochs here than Adam at 0.001. A gate weighs s_ij by the words' shares.

    Settings:
      grams  side of the largest window
      maps   maps of each convolution, of which the largest counts
      k      matches kept for each word and each size of window
    """

    paper = "Hui et al., EMNLP 2017"
    family = "interaction"
    inputs = InputSpec(pretrained_vectors=True, random_oov=False)
    training_defaults = {"freeze": True, "lr": 0.1, "epsilon": 1e-10}

    idf: Tensor

    def __init__(
        self, vocab: int, *, grams: Size = 3, maps: Size = 32, k: Size = 2, **embedding: Unpack[EmbeddingSettings]
    ) -> None:
        self.k = k
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = WordCosine(vocab)
        self.near = list(GridConv(1, maps, n, n) for n in range(2, grams + 1))
        self.score = LSTM(1 + grams * k, 1)
        self.idf = buffer(vocab + 1)  # the last is that of a word never seen

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        documents = np.unique(pairs.right)
        df = document_frequency(texts, documents, len(self.idf) - 1)
        self.idf = torch.from_numpy(np.log1p((len(documents) - df + 0.5) / (df + 0.5))).to(self.idf)

    def init_weights(self, scale: float) -> None:
        super().init_weights(scale)
        with torch.no_grad():
            self.score.bias[1] = 1  # the forget gate starts open, as the authors' code has it

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        s = self.interact(u, v)
        s = replace(s, x=s.x * (a[:, :, None] * b[:, None, :])[:, None])
        u, _ = tile_left(u, v)
        top = torch.stack(
            [self.strongest(s), *(self.strongest(s, cast(GridConv, near)) for near in self.near)], 1
        )  # [B, grams, L, K]
        top = F.pad(top, (0, self.k - top.shape[-1]))
        rare = self.idf[u.ids.clamp(max=len(self.idf) - 1)].masked_fill(~u.mask, -torch.inf).softmax(1)  # [B, L]
        p = torch.cat([rare[..., None], top.transpose(1, 2).flatten(2)], -1)  # [B, L, 1 + grams·K]
        return last_state(self.score(u.with_x(p)))[:, 0]

    def strongest(self, s: Grid, near: GridConv | None = None) -> Tensor:
        """The k largest cells of each row, or of what the largest map makes of them: [B, L, K]."""
        # Only these get a gradient: they are found without one and computed once more.
        with torch.no_grad():
            # A few pairs at a time: the maps of all of them would not fit in the cache.
            c = s.x[:, 0] if near is None else torch.cat([near.filters(x).amax(1) for x in near.padded(s).split(8)])
            found = torch.where(s.mask, c, -torch.inf).topk(min(self.k, c.shape[-1]), -1)
        B, L, K = found.indices.shape
        if near is None:
            top = s.x[:, 0].gather(2, found.indices)
        else:
            row = torch.arange(L, device=c.device)[:, None].expand(B, L, K)
            # relu of the largest map is the largest of relu, on one map in place of many.
            top = near.at(s, row.flatten(1), found.indices.flatten(1)).max(-1).values.relu().view(B, L, K)
        return top.masked_fill(found.values.isneginf(), 0)
