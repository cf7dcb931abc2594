"""PACRR: an LSTM over the k largest similarities of each left word, for single words and for windows of words."""

from dataclasses import replace
from typing import Unpack

import numpy as np

from pairlight.data.pairs import Pairs
from pairlight.data.statistics import bm25_idf, document_frequency
from pairlight.layers.attention import embed_with_attention
from pairlight.layers.backends import array_namespace
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_conv import GridConv
from pairlight.layers.idf import IdfSoftmax
from pairlight.layers.lstm import LSTM, last_state
from pairlight.layers.settings import Depth, Size
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
        self, vocab: int, *, grams: Depth = 3, maps: Size = 32, k: Size = 2, **embedding: Unpack[EmbeddingSettings]
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
        with array_namespace(self.score.bias).no_grad():
            self.score.bias[1] = 1  # the forget gate starts open, as in the authors' code

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v, a, b = embed_with_attention(self.embed, left, right)
        s = self.interact(u, v)
        s = replace(s, x=s.x * (a[:, :, None] * b[:, None, :])[:, None])
        u, _ = tile_left(u, v)
        xp = array_namespace(s.x)
        tops = [self.row_topk(s), *(self.row_topk(s, conv) for conv in self.convs)]  # [B, L, K] each
        p = xp.cat([self.idf_softmax(u)[..., None], *tops], -1)  # [B, L, 1 + grams·K]
        return last_state(self.score(u.with_x(p)))[:, 0]

    def row_topk(self, s: Grid, conv: GridConv | None = None) -> Array:
        """The k largest cells of each row of the grid, or of the convolved grid: [B, L, K]."""
        xp = array_namespace(s.x)
        # Only these cells get a gradient: they are found without one and then computed once more.
        with xp.no_grad():
            c = s.x[:, 0]
            if conv is not None:
                # 8 pairs at a time: the feature maps of all pairs would not fit in the cache.
                x = conv.pad(s)
                c = xp.cat([xp.amax(conv.filters(x[first : first + 8]), 1) for first in range(0, len(x), 8)])
            columns = xp.topk_indices(xp.where(s.mask, c, -float("inf")), min(self.k, c.shape[-1]))
        B, L, K = columns.shape
        if conv is None:
            top = xp.take_along_axis(s.x[:, 0], columns, 2)
        else:
            row = xp.broadcast_to(xp.arange(L, c)[:, None], (B, L, K))
            # relu is monotonic, so it follows the max over the feature maps.
            maps = conv.at(s, row.reshape(B, -1), columns.reshape(B, -1))  # [B, L·K, maps]
            top = xp.relu(xp.take_along_axis(maps, xp.argmax(maps), 2)).reshape(B, L, K)
        found = xp.take_along_axis(s.mask, columns, 2)
        return xp.pad(xp.where(found, top, 0), [(0, self.k - K)])
