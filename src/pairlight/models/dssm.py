"""DSSM: a text is a bag of letter trigrams, folded into a short vector, compared by cosine."""

from torch import Tensor

from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.char_ngrams import CharNgramEmbedding, glorot_uniform
from pairlight.layers.heads import CosineScore
from pairlight.layers.layer import parameter
from pairlight.layers.settings import Size
from pairlight.layers.types import Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec


class DSSM(DualEncoder[Tensor]):
    """Fold each text's letter trigrams into a short vector, compare the vectors by cosine.

    x = how often each letter trigram stands in the text
    h = tanh(W2 x + b2)
    g = tanh(W3 h + b3)
    y = tanh(W4 g + b4)
    s = cosine(y of the left text, y of the right text)

    One set of weights reads both sides and starts in Glorot's range. Trained by the softmax over one better and J worse
    texts; the paper leaves its smoothing factor and its learning rate open.

    Unlike the paper: the optimiser is Adam with weight decay, not plain gradient descent.

    Settings:
      hidden  size of h and g
      code    size of the vector y that a text becomes
    """

    paper = "Huang et al., CIKM 2013"
    family = "composition"
    inputs = InputSpec(input_kind="trigrams")
    training_defaults = {
        "loss": "listwise",
        "softmax_scale": 5.0,
        "optimizer": "adam",
        "lr": 0.0003,
        "weight_decay": 0.0001,
    }

    def __init__(self, vocab: int, *, hidden: Size = 300, code: Size = 128) -> None:
        self.embed = CharNgramEmbedding(vocab, hidden)
        self.bias = parameter(hidden, bound=0)
        self.layers = Sequential(Tanh(), Linear(hidden, hidden), Tanh(), Linear(hidden, code), Tanh())
        self.score = CosineScore()

    def init_weights(self, scale: float) -> None:
        super().init_weights(scale)
        glorot_uniform(self)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.embed(left, right)  # together, because each distinct word is then summed once
        return self.match(self.encode(u), self.encode(v))

    def encode_left(self, tokens: Tokens) -> Tensor:
        (u,) = self.embed(tokens)
        return self.encode(u)

    encode_right = encode_left

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(u, v)

    def encode(self, u: Seq) -> Tensor:
        return self.layers(u.x.sum(1) + self.bias)  # [B, code]
