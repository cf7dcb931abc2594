"""ARC-I: a convolutional network encodes each text; an MLP compares the two encodings."""

from typing import Annotated, Literal, Unpack

from pairlight.layers.backends import array_namespace
from pairlight.layers.conv_pool import ConvPoolCNN
from pairlight.layers.dynamic_cnn import DynamicCNN
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.heads import MLP
from pairlight.layers.settings import Depth, Size
from pairlight.layers.types import Array, Tokens, tile_left_vectors
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import WORDS, InputSpec

Preset = Literal["paper", "mv-lstm"]


class ARCI(DualEncoder[Array]):
    """Encode each text by convolution and pooling, then compare the encodings with an MLP.

    y_t = relu(W [z_t ; .. ; z_t+m-1] + b), zero if the window starts after the end of the text;  z = x at first
    z_t = max(y_2t-1, y_2t), for the next layer
    c   = all z_t of the last layer concatenated, for texts of a fixed length
    s   = w · relu(U [c of the left text ; c of the right text] + d) + e

    Both texts share the convolutions. preset=mv-lstm is the model that the script of the MV-LSTM authors runs as ARC-I:
    wide convolutions without bias, separate for both texts, with tanh and dynamic k-max pooling (at least 4 positions,
    1 after the last layer).

    Windows of 3 words, two layers and 200 to 500 feature maps are the paper's sizes as we remember them. The sizes of
    the MLP and of the fixed length are ours.

    Unlike the paper: fewer feature maps, for ordinary processors; the gate is a mask, which differs from a test for
    windows of zeros only if a window inside the text is zero; an odd last position is kept, not dropped.

    Settings:
      preset  paper, or mv-lstm for the form in the script of the MV-LSTM authors
      maps    feature maps of each convolution
      width   window size of the convolutions
      layers  number of convolutions, each followed by pooling
      length  number of words to which texts are truncated (preset=paper)
      mlp     hidden units of the MLP
    """

    paper = "Hu et al., NIPS 2014"
    family = "composition"
    inputs = InputSpec(pretrained_vectors=True, max_lengths=("length", "length"))
    paper_training = {"lr": 0.01, "epsilon": 1e-10}

    def __init__(
        self,
        vocab: int,
        *,
        preset: Annotated[str, Preset] = "paper",
        maps: Size = 50,
        width: Size = 3,
        layers: Depth = 2,
        length: Size = 50,
        mlp: Size = 200,
        **embedding: Unpack[EmbeddingSettings],
    ) -> None:
        self.embed = WordEmbedding(vocab, **embedding)
        dim = self.embed.dim
        encoders: list[ConvPoolCNN] | list[DynamicCNN]
        if preset == "paper":
            encoders = [ConvPoolCNN(dim, maps, width, layers, length)]  # shared by both texts
        else:
            self.inputs = WORDS  # texts are not truncated
            encoders = [DynamicCNN(dim, maps, width, layers, least=4, top=1, bias=False) for _ in range(2)]
        self.encode = list(encoders)
        self.score = MLP(2 * encoders[0].features, mlp)

    def encode_left(self, tokens: Tokens) -> Array:
        return self.encode[0](self.embed.left(tokens))

    def encode_right(self, tokens: Tokens) -> Array:
        return self.encode[-1](self.embed.right(tokens))

    def match(self, u: Array, v: Array) -> Array:
        return self.score(array_namespace(u).cat(tile_left_vectors(u, v), 1))
