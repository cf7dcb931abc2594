"""PACRR: an LSTM over the k largest similarities of each left word, for single words and for windows of words."""

from dataclasses import replace
from typing import Unpack

import numpy as np
import torch
from torch.nn import functional as F

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import bm25_idf, document_frequency
from pairlight.layers.attention import embed_with_attention
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_conv import GridConv
from pairlight.layers.idf import IdfSoftmax
from pairlight.layers.lstm import LSTM, last_state
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Grid, Tokens, tile_left
from pairlight.layers.word_cosine import WordCosine
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec
from pairlight.text.tokenizer import TokenizedTexts


class PACRR(PairModel):
    """Keep the k largest similarities of each left word, for single words and n x n windows, and run an LSTM over them.

    s_ij  = cosine of x_i and y_j; 1 for identical words, 0 if either is out of vocabulary or has no vector
    c1    = s,   cn = max over the feature maps of relu(Wn * s + bn) with n x n windows, n = 2 .. grams
    p_i   = [softmax(idf)_i ; k largest of row i of c1 ; .. ; k largest of row i of c_grams], largest first
    s     = output of an LSTM with one unit over p_1 .. p_n, at the last word of the left text
    idf   = ln(1 + (N - df + 0.5) / (df + 0.5)), where df of the N right texts in training contain the word

    Windows are centered on their cell; a window of even size has its extra row and column after the cell. Rows with
    fewer than k words are padded with zeros.

    Unlike the paper: texts are not filled up to a fixed length, so the LSTM ends at the last word of the left text;
    both texts are truncated after the same number of words, the training option max_length (the paper: 16 and 768),
    and its other choice of right words, kwindow, is left out; the gates of the LSTM are sigmoids, not piecewise linear;
    the idf is that of our BM25; the optimizer is AdaGrad, which needs fewer epochs here than Adam at 0.001. With a
    gate, s_ij is multiplied by the attention weights of both words.

    Settings:
      grams  size of the largest window
      maps   feature maps of each convolution, of which the maximum is taken
      k      number of largest similarities kept for each left word and window size
    """

    paper = "Hui et al., EMNLP 2017"
    family = "interaction"
    inputs = InputSpec(pretrained_vectors=True, random_oov=False)
    training_defaults = {"max_length": 200}  # it ranks documents
    paper_training = {"freeze": True, "lr": 0.1, "epsilon": 1e-10}

    def __init__(
        self, vocab: int, *, grams: Size = 3, maps: Size = 32, k: Size = 2, **embedding: Unpack[EmbeddingSettings]
    ) -> None:
        self.vocab, self.k = vocab, k
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = WordCosine(vocab)
        self.convs = [GridConv(1, maps, n, n) for n in range(2, grams + 1)]
        self.idf_softmax = IdfSoftmax(vocab)
        self.score = LSTM(1 + grams * k, 1)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        documents = np.unique(pairs.right)
        idf = bm25_idf(document_frequency(texts, documents, self.vocab), len(documents))
        self.idf_softmax.set_idf(idf)

    def init_weights(self, scale: float) -> None:
        super().init_weights(scale)
        with torch.no_grad():
            self.score.bias[1] = 1  # the forget gate starts open, as in the authors' code

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        s = self.interact(u, v)
        s = replace(s, x=s.x * (a[:, :, None] * b[:, None, :])[:, None])
        u, _ = tile_left(u, v)
        top = torch.stack([self.row_topk(s), *(self.row_topk(s, conv) for conv in self.convs)], 1)  # [B, grams, L, K]
        top = F.pad(top, (0, self.k - top.shape[-1]))
        p = torch.cat([self.idf_softmax(u)[..., None], top.transpose(1, 2).flatten(2)], -1)  # [B, L, 1 + grams·K]
        return last_state(self.score(u.with_x(p)))[:, 0]

    def row_topk(self, s: Grid, conv: GridConv | None = None) -> Array:
        """The k largest cells of each row of the grid, or of the convolved grid: [B, L, K]."""
        # Only these cells get a gradient: they are found without one and then computed once more.
        with torch.no_grad():
            # 8 pairs at a time: the feature maps of all pairs would not fit in the cache.
            c = s.x[:, 0] if conv is None else torch.cat([conv.filters(x).amax(1) for x in conv.pad(s).split(8)])
            found = torch.where(s.mask, c, -torch.inf).topk(min(self.k, c.shape[-1]), -1)
        B, L, K = found.indices.shape
        if conv is None:
            top = s.x[:, 0].gather(2, found.indices)
        else:
            row = torch.arange(L, device=c.device)[:, None].expand(B, L, K)
            # relu is monotonic, so it follows the max over the feature maps.
            top = conv.at(s, row.flatten(1), found.indices.flatten(1)).max(-1).values.relu().view(B, L, K)
        return top.masked_fill(found.values.isneginf(), 0)
