"""ARC-II: a convolutional network over the grid of all pairs of segments."""

from typing import Unpack

from pairlight.layers.conv_pool import GridConvPoolCNN, pooled_lengths
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import MLP
from pairlight.layers.segment_pairs import SegmentPairs
from pairlight.layers.settings import Depth, Size
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel
from pairlight.text.inputs import InputSpec


class ARCII(PairModel):
    """Compare all segments of both texts and aggregate the grid with a convolutional network that keeps word order.

    y_ij = relu(W [x_i ; .. ; x_i+m-1 ; y_j ; .. ; y_j+m-1] + b) for every pair of segments of m words
    z_ij = max of every 2 x 2 cells of y
    y'   = relu(V · (m x m cells of z) + c), then z' = max of every 2 x 2 cells, in every further layer
    s    = w · relu(U z' + d) + e, with all cells of the last z', for texts of a fixed length

    Windows of 3 words, three layers and 200 to 500 feature maps are the paper's sizes as we remember them. The sizes of
    the MLP and of the fixed length are ours.

    Unlike the paper: far fewer feature maps, for ordinary processors; a pair of segments counts if both start inside
    their texts, not if only one does, so that no score depends on the fixed length of the other text; an odd last row
    or column is kept, not dropped.

    Settings:
      maps    feature maps of each convolution
      width   window size of the convolutions
      layers  number of convolutions, each followed by pooling
      length  number of words to which texts are truncated
      mlp     hidden units of the MLP
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
        layers: Depth = 3,
        length: Size = 50,
        mlp: Size = 50,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        _, *after = pooled_lengths(length, width, layers)
        self.interact = SegmentPairs(self.embed.dim, maps, width, length)
        self.aggregate = GridConvPoolCNN(maps, width, after)
        self.score = MLP(self.aggregate.features, mlp)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        return self.score(self.aggregate(self.interact(*self.embed(left, right))))
