"""CNTN: a convolutional network makes a vector of each text, a neural tensor layer scores the two."""

from typing import Annotated, Literal, Unpack

from torch import Tensor, nn

from pairlight.layers.basic import Linear, Sequential
from pairlight.layers.dynamic_cnn import DynamicCNN
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.settings import Size
from pairlight.layers.tensor_head import SymmetricTensorScore, TensorScore
from pairlight.layers.types import Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS

Preset = Literal["paper", "mv-lstm"]


class CNTN(DualEncoder[Tensor]):
    """Make a vector of each text, keeping more of a longer one on the way, and let a tensor score the two.

    z = tanh(dynamic k-max of W [z_t-m+1 ; .. ; z_t] + b), layer upon layer;  z = x at first
        k = max(top, ⌈(layers - layer) n / layers⌉) largest values of every feature, in their order; `top` at last
    c = V z + d, z of the last layer place by place; each side has weights of its own
    s = w · tanh(c_left · M^i c_right + U^i [c_left ; c_right] + e^i, for every slice i)

    preset=mv-lstm is what the MV-LSTM authors' script runs under this name: no biases but the score's, k at least 4 and
    at last 1, c = z, and a symmetric tensor, M^i = T^i (T^i)', with one U^i for both sides.

    Depth, sizes and whether the sides share weights are not certain: the tensor layer is the paper's, the rest of the
    encoder agrees with later code of the same university. Its filters see all features of the layer below.

    Settings:
      preset    paper, or mv-lstm for the form of the MV-LSTM authors' script
      maps      features of each convolution
      width     words or places in a window
      layers    convolutions, each with its pooling
      top       places kept behind the last layer, and at least behind each (preset=paper)
      code      size of the vector that a text becomes (preset=paper)
      channels  slices of the tensor
    """

    paper = "Qiu and Huang, IJCAI 2015"
    family = "composition"
    inputs = WORDS
    training_defaults = {
        "lr": 0.005,
        "epsilon": 1e-10,
    }  # at the house's 0.03 the tanh of the tensor saturates and all pairs tie

    def __init__(
        self,
        vocab: int,
        *,
        preset: Annotated[str, Preset] = "paper",
        maps: Size = 50,
        width: Size = 3,
        layers: Size = 2,
        top: Size = 4,
        code: Size = 50,
        channels: Size = 5,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        paper, dim = preset == "paper", self.embed.dim

        def side() -> nn.Module:
            if not paper:
                return DynamicCNN(dim, maps, width, layers, least=4, top=1, bias=False)
            return Sequential(DynamicCNN(dim, maps, width, layers, least=top, top=top), Linear(top * maps, code))

        self.encode = [side(), side()]
        self.score = TensorScore(code, channels) if paper else SymmetricTensorScore(maps, channels)

    def encode_left(self, tokens: Tokens) -> Tensor:
        return self.encode[0](self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Tensor:
        return self.encode[1](self.embed.right(tokens))

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(u, v)
