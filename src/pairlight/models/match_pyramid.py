"""MatchPyramid: a convolutional network over the grid of word similarities, as if it were an image."""

from dataclasses import replace
from typing import Annotated, Unpack

from pairlight.layers.backends import array_namespace
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_conv import GridConv
from pairlight.layers.grid_pool import GridPool
from pairlight.layers.heads import MLP
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class MatchPyramid(PairModel):
    """Treat the grid of word similarities as an image.

    s_ij = interaction of x_i and y_j
    z    = relu(W * s + b), with windows of height x width centered on every cell
    p    = z max-pooled to rows x columns, in segments of the pair's own lengths
    t    = relu(V * p + c), with windows of window x window, then the max of every 2 x 2 cells
    s    = w · relu(U t + d) + e

    The feature maps and windows are the paper's as we remember them, the pooled size is from an answer of its first
    author, the hidden layer from the authors' code for retrieval; that the second pooling covers 2 x 2 cells is ours.

    Unlike the paper: windows may extend over the edge, where cells are zero, so that one-word texts have cells too; one
    score instead of two class scores; gaussian is from a later study of the authors, bilinear and tensor are additions.

    Settings:
      interaction  how two words are compared: indicator, dot, cosine, gaussian, bilinear or tensor
      channels     slices of the tensor
      maps         feature maps of the first convolution
      height       left words in a window of the first convolution
      width        right words in a window of the first convolution
      rows         rows of the pooled grid
      columns      columns of the pooled grid
      deep         feature maps of the second convolution
      window       rows and columns of a window of the second convolution
      mlp          hidden units of the MLP
    """

    paper = "Pang et al., AAAI 2016"
    family = "interaction"
    inputs = WORDS
    paper_training = {"lr": 0.01, "epsilon": 1e-10}

    def __init__(
        self,
        vocab: int,
        *,
        interaction: Annotated[str, InteractionName] = "dot",
        channels: Size = 4,
        maps: Size = 8,
        height: Size = 5,
        width: Size = 5,
        rows: Size = 5,
        columns: Size = 5,
        deep: Size = 16,
        window: Size = 3,
        mlp: Size = 20,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        self.interact = build_interaction(interaction, self.embed.dim, channels)
        self.near = GridConv(self.interact.channels, maps, height, width)
        self.pool = GridPool(rows, columns)
        self.far = GridConv(maps, deep, window, window)
        self.score = MLP(deep * -(-rows // 2) * -(-columns // 2), mlp)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        p = self.pool(self.near(self.interact(*self.embed(left, right))))
        xp = array_namespace(p.x)
        # relu is monotonic, so it follows the pooling, where fewer values are left.
        t = xp.relu(self.far(replace(p, x=xp.relu(p.x))).x)  # [B, deep, rows, columns]
        return self.score(xp.max_pool2d(t, 2).reshape(len(t), -1))
