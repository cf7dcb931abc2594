"""ARC-II: every segment of one text meets every segment of the other, and a network reads the grid they make."""

from typing import Unpack

from torch import Tensor, nn

from pairlight.models.base import PairModel
from pairlight.parts import Grid, Seq, Tokens, facing, grid_of
from pairlight.parts.embed import Words, WordSettings
from pairlight.parts.halving import GridHalvingCNN, Halving, places
from pairlight.parts.score import MLP


class SegmentPairs(nn.Module):
    """z_ij = the largest of relu(W [x_2i .. x_2i+m-1 ; y_2j .. y_2j+m-1] + b) over 2 x 2 neighbouring pairs of segments

    W = [A B] has a part for each text, and the largest sum of a_i + b_j is the sum of the largest a_i and b_j:
    the grid is never made at its full size.   Seq, Seq -> Grid
    """

    def __init__(self, dim: int, maps: int, width: int, length: int) -> None:
        super().__init__()
        self.left = Halving(dim, maps, width, length, bias=False)
        self.right = Halving(dim, maps, width, length)

    def forward(self, u: Seq, v: Seq) -> Grid:
        a, b = facing(self.left(u), self.right(v))
        return grid_of(a, b, (a.x.mT[..., None] + b.x.mT[:, :, None]).relu())  # [B, maps, L, R]


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

    def __init__(
        self,
        vocab: int,
        *,
        maps: int = 16,
        width: int = 3,
        layers: int = 3,
        length: int = 50,
        mlp: int = 50,
        **words: Unpack[WordSettings],
    ) -> None:
        super().__init__()
        self.words = Words(vocab, **words)
        _, *after = places(length, width, layers)
        self.interact = SegmentPairs(self.words.dim, maps, width, length)
        self.aggregate = GridHalvingCNN(maps, width, after)
        self.score = MLP(self.aggregate.features, mlp)

    @property
    def reads(self) -> tuple[str, str]:
        return "length", "length"

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        return self.score(self.aggregate(self.interact(*self.words(left, right))))
