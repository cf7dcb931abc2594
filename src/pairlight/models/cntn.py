"""CNTN: a convolutional network encodes each text; a neural tensor layer scores the two encodings."""

from typing import Annotated, Literal, Unpack

from pairlight.layers.basic import Linear, Sequential
from pairlight.layers.dynamic_cnn import DynamicCNN
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.layer import Layer
from pairlight.layers.settings import Depth, Size
from pairlight.layers.tensor_head import SymmetricTensorScore, TensorScore
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS

Preset = Literal["paper", "mv-lstm"]


class CNTN(DualEncoder[Array]):
    """Encode each text by convolution and dynamic k-max pooling, score the encodings with a tensor.

    z = tanh(dynamic k-max pooling of W [z_t-m+1 ; .. ; z_t] + b), in every layer;  z = x at first
        k = max(top, ⌈(layers - layer) n / layers⌉) largest values of every feature, in order; `top` in the last layer
    c = V z + d, with all positions of the last z; the weights are separate for both texts
    s = w · tanh(c_left · M^i c_right + U^i [c_left ; c_right] + e^i, for every slice i)

    preset=mv-lstm is the model that the script of the MV-LSTM authors runs as CNTN: no biases except that of the score,
    k at least 4 and 1 in the last layer, c = z, and a symmetric tensor, M^i = T^i (T^i)', with one U^i for both texts.

    The tensor layer is the paper's. Depth, sizes and whether the texts share weights are uncertain; the rest of the
    encoder agrees with later code of the same university.

    Unlike the paper: filters cover all features of the layer below, not one feature each; the loss has no L2 penalty
    unless weight_decay is set; word vectors have length 1 at the start.

    Settings:
      preset    paper, or mv-lstm for the form in the script of the MV-LSTM authors
      maps      feature maps of each convolution
      width     window size of the convolutions
      layers    number of convolutions, each followed by pooling
      top       positions kept after the last layer, and the minimum for the others (preset=paper)
      code      size of the text vector (preset=paper)
      channels  slices of the tensor
    """

    paper = "Qiu and Huang, IJCAI 2015"
    family = "composition"
    inputs = WORDS
    # At the default lr of 0.03 the tanh of the tensor saturates and all pairs get the same score.
    paper_training = {"lr": 0.005, "epsilon": 1e-10}

    def __init__(
        self,
        vocab: int,
        *,
        preset: Annotated[str, Preset] = "paper",
        maps: Size = 50,
        width: Size = 3,
        layers: Depth = 2,
        top: Size = 4,
        code: Size = 50,
        channels: Size = 5,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        paper, dim = preset == "paper", self.embed.dim

        def encoder() -> Layer:
            if not paper:
                return DynamicCNN(dim, maps, width, layers, least=4, top=1, bias=False)
            return Sequential(DynamicCNN(dim, maps, width, layers, least=top, top=top), Linear(top * maps, code))

        self.encode = [encoder(), encoder()]
        self.score = TensorScore(code, channels) if paper else SymmetricTensorScore(maps, channels)

    def encode_left(self, tokens: Tokens) -> Array:
        return self.encode[0](self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Array:
        return self.encode[1](self.embed.right(tokens))

    def match(self, u: Array, v: Array) -> Array:
        return self.score(u, v)
