"""MultiGranCNN: compares words, short phrases, long phrases and the whole of one text with those of the other."""

from typing import Annotated, Literal, Unpack

from pairlight.layers.basic import ReLU, Tanh
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_cnn import GridCNN
from pairlight.layers.heads import MLP
from pairlight.layers.interactions import Bilinear
from pairlight.layers.phrases import Phrases
from pairlight.layers.settings import Depth, Size
from pairlight.layers.similarity import Activated, SimilarityName, build_similarity
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS

Preset = Literal["paper", "mv-lstm"]


class MultiGranCNN(DualEncoder[Seq]):
    """Compare units of all granularities, from words to the whole text, and aggregate the grid with a CNN.

    y^l  = tanh(W [z^l-1_t-m+1 ; .. ; z^l-1_t] + b), the phrases of level l;  z^0 = x, the words
    z^l  = the k largest y^l of every feature, in order: k = max(least, ⌈(layers - l) n / layers⌉), 1 in the last layer
    u    = [x ; y^1 ; .. ; y^layers ; z^layers], and v of the right text with the same weights
    s_ij = sigmoid(u_i·M v_j + b) (indirect), exp(-|u_i - v_j|² / 4) (direct) or sigmoid(w·[u_i ; v_j] + b) (concat)
    g    = s max-pooled to grid x grid, in segments of the pair's own lengths
    g    = tanh(W * g + b) pooled to middle x middle, then tanh(W * g + b) pooled to last x last
    s    = w · relu(U g + d) + e

    preset=mv-lstm is the model that the script of the MV-LSTM authors runs as MultiGranCNN: convolutions without bias,
    separate for both texts, relu instead of tanh, s_ij = relu(u_i·M v_j + b) (b is ours), and no convolutions over the
    grid.

    Levels, similarities and both networks are the paper's, the formulas as we remember them; width, layers and least
    are from code that cites it; the sizes of the network over the grid are ours.

    Unlike the paper: the hidden layer uses relu; the network over the text is not pretrained on unlabeled text.

    Settings:
      preset       paper, or mv-lstm for the form in the script of the MV-LSTM authors
      interaction  how two units are compared: indirect, direct or concat (preset=paper)
      width        window size of the convolutions over a text
      layers       number of convolutions over a text, each followed by pooling
      least        minimum number of positions kept after each of them but the last
      grid         rows and columns to which the grid of similarities is pooled
      maps         feature maps of the first convolution over the grid (preset=paper)
      middle       rows and columns to which its output is pooled (preset=paper)
      deep         feature maps of the second convolution over the grid (preset=paper)
      last         rows and columns to which its output is pooled (preset=paper)
      window       rows and columns of a window of both (preset=paper)
      mlp          hidden units of the MLP
    """

    paper = "Yin and Schütze, ACL 2015"
    family = "composition"
    inputs = WORDS

    def __init__(
        self,
        vocab: int,
        *,
        preset: Annotated[str, Preset] = "paper",
        interaction: Annotated[str, SimilarityName] = "indirect",
        width: Size = 3,
        layers: Depth = 3,
        least: Size = 4,
        grid: Size = 15,
        maps: Size = 8,
        middle: Size = 10,
        deep: Size = 16,
        last: Size = 5,
        window: Size = 3,
        mlp: Size = 200,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        dim = self.embed.dim
        if preset == "paper":
            encoders = [Phrases(dim, width, layers, least, Tanh())]  # shared by both texts
            self.interact = build_similarity(interaction, dim)
            self.aggregate = GridCNN(grid, [(maps, middle), (deep, last)], window)
        else:
            encoders = [Phrases(dim, width, layers, least, ReLU(), bias=False) for _ in range(2)]
            self.interact = Activated(Bilinear(dim), ReLU())
            self.aggregate = GridCNN(grid, [], window)
        self.encode = encoders
        self.score = MLP(self.aggregate.features, mlp)

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.encode[0](self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.encode[-1](self.embed.right(tokens))

    def match(self, u: Seq, v: Seq) -> Array:
        return self.score(self.aggregate(self.interact(u, v)))
