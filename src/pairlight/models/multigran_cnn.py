"""MultiGranCNN: words, short phrases, long phrases and the whole of one text meet all those of the other."""

from typing import Annotated, Literal, Unpack

import torch
from torch import Tensor

from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.grid_cnn import GridCNN
from pairlight.layers.heads import MLP
from pairlight.layers.interactions import Bilinear
from pairlight.layers.phrases import Phrases
from pairlight.layers.settings import Size
from pairlight.layers.similarity import Activated, SimilarityName, build_similarity
from pairlight.layers.types import Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS

Preset = Literal["paper", "mv-lstm"]


class MultiGranCNN(DualEncoder[Seq]):
    """Compare whatever one text is made of, from word to whole, with whatever the other is made of.

    y^l  = tanh(W [z^l-1_t-m+1 ; .. ; z^l-1_t] + b), the phrases of level l;  z^0 = x, the words
    z^l  = the k largest y^l of every feature, in their order: k = max(least, ⌈(layers - l) n / layers⌉), at last 1
    u    = [x ; y^1 ; .. ; y^layers ; z^layers], and v of the right text, by the same weights
    s_ij = sigmoid(u_i·M v_j + b) (indirect), exp(-|u_i - v_j|² / 4) (direct) or sigmoid(w·[u_i ; v_j] + b) (concat)
    g    = s pooled to grid x grid, the largest of each piece, cut by the pair's own lengths
    g    = tanh(W * g + b) pooled to middle x middle, then tanh(W * g + b) pooled to last x last
    s    = w · relu(U g + d) + e

    preset=mv-lstm is what the MV-LSTM authors' script runs under this name: each side has convolutions of its own
    without bias, relu in place of tanh, s_ij = relu(u_i·M v_j + b) (b is ours), and no second network behind the grid.

    Levels, likenesses and the two networks are the paper's; the formulas come from memory of it; width, layers and
    least from code that cites it; the sizes of the second network are ours.

    Unlike the paper: the hidden layer is relu; the phrases' network is not trained on unlabelled text first.

    Settings:
      preset       paper, or mv-lstm for the form of the MV-LSTM authors' script
      interaction  how two units are compared: indirect, direct or concat (preset=paper)
      width        words or places in a window
      layers       convolutions over a text, each with its pooling
      least        places kept at least behind each but the last
      grid         rows and columns all likenesses are pooled to
      maps         maps of the first convolution over the grid (preset=paper)
      middle       rows and columns behind it
      deep         maps of the second (preset=paper)
      last         rows and columns behind that
      window       rows and columns their windows span
      mlp          size of the hidden layer before the score
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
        layers: Size = 3,
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
            sides = [Phrases(dim, width, layers, least, torch.tanh)]  # one for both
            self.interact = build_similarity(interaction, dim)
            self.aggregate = GridCNN(grid, [(maps, middle), (deep, last)], window)
        else:
            sides = [Phrases(dim, width, layers, least, torch.relu, bias=False) for _ in range(2)]
            self.interact = Activated(Bilinear(dim), torch.relu)
            self.aggregate = GridCNN(grid, [], window)
        self.encode = list(sides)
        self.score = MLP(self.aggregate.features, mlp)

    def encode_left(self, tokens: Tokens) -> Seq:
        return self.encode[0](self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Seq:
        return self.encode[-1](self.embed.right(tokens))

    def match(self, u: Seq, v: Seq) -> Tensor:
        return self.score(self.aggregate(self.interact(u, v)))
