"""ARC-II: every segment of one text meets every segment of the other, and a network reads the grid they make."""

from typing import Unpack

from torch import Tensor

from pairlight.layers.conv_pool import ConvPool, GridConvPoolCNN, places
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import MLP
from pairlight.layers.layer import Layer
from pairlight.layers.settings import Size
from pairlight.layers.types import Grid, Seq, Tokens, masked_grid, tile_left
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec


class SegmentPairs(Layer):
    """z_ij = the largest of relu(W [x_2i .. x_2i+m-1 ; y_2j .. y_2j+m-1] + b) over 2 x 2 neighbouring pairs of segments

    W = [A B] has a part for each text, and the largest sum of a_i + b_j is the sum of the largest a_i and b_j:
    the grid is never made at its full size.   Seq, Seq -> Grid
    """

    def __init__(self, dim: int, maps: int, width: int, length: int) -> None:
        self.left = ConvPool(dim, maps, width, length, bias=False)
        self.right = ConvPool(dim, maps, width, length)

    def forward(self, u: Seq, v: Seq) -> Grid:
        a, b = tile_left(self.left(u), self.right(v))
        return masked_grid(a, b, (a.x.mT[..., None] + b.x.mT[:, :, None]).relu())  # [B, maps, L, R]


class ARCII(PairModel):
    """Let the texts meet before either has become a vector, segment by segment, and keep the order of words.

    y_ij = relu(W [x_i ; .. ; x_i+m-1 ; y_j ; .. ; y_j+m-1] + b) for every pair of segments of m words
    z_ij = the largest of every 2 x 2 cells of y
    y'   = relu(V · (m x m cells of z) + c), then z' = the largest of every 2 x 2 cells, layer upon layer
    s    = w · relu(U z' + d) + e, z' of the last layer cell by cell, for texts of fixed length

    The paper's sizes come from memory of it: windows of 3, three layers, 200 to 500 maps; the width of the MLP and the
    fixed length are ours.

    Unlike the paper: far fewer maps, for ordinary processors; a pair of segments counts where both begin inside their
    texts, not already where one does, so that no score depends on the fixed length of the other side; a last odd row
    or column is kept, not dropped.

    Settings:
      maps    features of each convolution
      width   words or cells in a window
      layers  convolutions, each with its pooling
      length  words of a text that are read, at most
      mlp     size of the hidden layer before the score
    """

    paper = "Hu et al., NIPS 2014"
    family = "interaction"
    inputs = InputSpec(pretrained_vectors=True, max_lengths=("length", "length"))

    def __init__(
        self,
        vocab: int,
        *,
        maps: Size = 16,
        width: Size = 3,
        layers: Size = 3,
        length: Size = 50,
        mlp: Size = 50,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        _, *after = places(length, width, layers)
        self.interact = SegmentPairs(self.embed.dim, maps, width, length)
        self.aggregate = GridConvPoolCNN(maps, width, after)
        self.score = MLP(self.aggregate.features, mlp)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        return self.score(self.aggregate(self.interact(*self.embed(left, right))))
