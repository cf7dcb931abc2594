"""MatchPyramid: look at the grid of word similarities as at a picture."""

from dataclasses import replace
from typing import Annotated, Unpack

from torch import Tensor
from torch.nn import functional as F

from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_conv import GridConv
from pairlight.layers.grid_pool import GridPool
from pairlight.layers.heads import MLP
from pairlight.layers.interactions import InteractionName, build_interaction
from pairlight.layers.settings import Size
from pairlight.layers.types import Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import WORDS


class MatchPyramid(PairModel):
    """Look at the grid of word similarities as at a picture.

    s_ij = interaction of x_i and y_j
    z    = relu(W * s + b), windows of height x width centred on every cell
    p    = z pooled to rows x columns, the largest of each piece, cut by the pair's own lengths
    t    = relu(V * p + c), windows of window x window, then the largest of every 2 x 2 cells
    s    = w · relu(U t + d) + e

    The maps and windows are from memory of the paper, the pooled size from an answer of its first author, the hidden
    layer from the authors' code for retrieval; that the second pooling takes 2 x 2 cells is ours.

    Unlike the paper: a window may reach over the edge, where zeros stand, so that a one-word text has cells too; one
    score in place of two class scores; gaussian is the authors' later study's, bilinear and tensor are further ones.

    Settings:
      interaction  how two words are compared: indicator, dot, cosine, gaussian, bilinear or tensor
      channels     slices of the tensor
      maps         maps of the first convolution
      height       left words its window spans
      width        right words its window spans
      rows         rows of the pooled grid
      columns      columns of the pooled grid
      deep         maps of the second convolution
      window       rows and columns its window spans
      mlp          size of the hidden layer before the score
    """

    paper = "Pang et al., AAAI 2016"
    family = "interaction"
    inputs = WORDS
    training_defaults = {"lr": 0.01, "epsilon": 1e-10}

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

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        p = self.pool(self.near(self.interact(*self.embed(left, right))))
        # relu after the pooling is relu before it, on far fewer cells.
        t = self.far(replace(p, x=p.x.relu())).x.relu()  # [B, deep, rows, columns]
        return self.score(F.max_pool2d(t, 2, ceil_mode=True).flatten(1))
