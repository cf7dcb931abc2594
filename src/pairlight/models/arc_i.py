"""ARC-I: convolution and pooling make a vector of each text by itself, a small network compares the two."""

from typing import Annotated, Literal, Unpack

import torch
from torch import Tensor

from pairlight.layers.conv_pool import ConvPoolCNN
from pairlight.layers.dynamic_cnn import DynamicCNN
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import MLP
from pairlight.layers.settings import Size
from pairlight.layers.types import Tokens, tile_left_vectors
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS, InputSpec

Preset = Literal["paper", "mv-lstm"]


class ARCI(DualEncoder[Tensor]):
    """Shrink each text by itself, layer by layer, then compare what is left.

    y_t = relu(W [z_t ; .. ; z_t+m-1] + b), silent where the window begins behind the text;  z = x in the first layer
    z_t = max(y_2t-1, y_2t), for the next layer
    c   = all z_t of the last layer, one after another, for a text of fixed length
    s   = w · relu(U [c of the left text ; c of the right text] + d) + e

    Both texts share the layers. preset=mv-lstm is what the MV-LSTM authors' script runs under this name: each side has
    layers of its own, wide convolutions without bias, tanh, dynamic k-max (at least 4 places, 1 behind the last layer).

    The paper's sizes come from memory of it: windows of 3 words, two layers, 200 to 500 maps; the width of the MLP and
    the fixed length are ours.

    Unlike the paper: fewer maps, for ordinary processors; the gate is a mask, which differs from asking whether all
    numbers of a window are zero only where a real window is zero throughout; a last odd place is kept, not dropped.

    Settings:
      preset  paper, or mv-lstm for the form of the MV-LSTM authors' script
      maps    features of each convolution
      width   words or places in a window
      layers  convolutions, each with its pooling
      length  words of a text that are read, at most (preset=paper)
      mlp     size of the hidden layer before the score
    """

    paper = "Hu et al., NIPS 2014"
    family = "composition"
    inputs = InputSpec(pretrained_vectors=True, max_lengths=("length", "length"))
    training_defaults = {"lr": 0.01, "epsilon": 1e-10}

    def __init__(
        self,
        vocab: int,
        *,
        preset: Annotated[str, Preset] = "paper",
        maps: Size = 50,
        width: Size = 3,
        layers: Size = 2,
        length: Size = 50,
        mlp: Size = 200,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        dim = self.embed.dim
        sides: list[ConvPoolCNN] | list[DynamicCNN]
        if preset == "paper":
            sides = [ConvPoolCNN(dim, maps, width, layers, length)]  # one for both
        else:
            self.inputs = WORDS  # texts of any length are read whole
            sides = [DynamicCNN(dim, maps, width, layers, least=4, top=1, bias=False) for _ in range(2)]
        self.encode = list(sides)
        self.score = MLP(2 * sides[0].features, mlp)

    def encode_left(self, tokens: Tokens) -> Tensor:
        return self.encode[0](self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Tensor:
        return self.encode[-1](self.embed.right(tokens))

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(torch.cat(tile_left_vectors(u, v), 1))
