"""DSSM: a feed-forward network encodes the character trigrams of each text; the encodings are compared by cosine."""

from pairlight.layers.basic import Linear, Sequential, Tanh
from pairlight.layers.char_ngrams import CharNgramEmbedding, init_glorot_uniform
from pairlight.layers.heads import CosineScore
from pairlight.layers.layer import parameter
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec


class DSSM(DualEncoder[Array]):
    """Encode the character trigrams of each text as a short vector and compare the vectors by cosine.

    x = number of times that each character trigram occurs in the text
    h = tanh(W2 x + b2)
    g = tanh(W3 h + b3)
    y = tanh(W4 g + b4)
    s = cosine(y of the left text, y of the right text)

    Both texts share all weights, which are initialized with Glorot's bound. Trained with a softmax over one positive
    and J negatives; the paper does not give its smoothing factor and learning rate.

    Unlike the paper: the optimizer is Adam with weight decay, not plain gradient descent.

    Settings:
      hidden  size of h and g
      code    size of the text vector y
    """

    paper = "Huang et al., CIKM 2013"
    family = "composition"
    inputs = InputSpec(input_kind="trigrams")
    bounded_score = True
    training_defaults = {"lr": 0.0003}
    paper_training = {
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
        init_glorot_uniform(self)

    def forward(self, left: Tokens, right: Tokens) -> Array:
        u, v = self.embed(left, right)  # in one call, so that each distinct word is summed once
        return self.match(self.encode(u), self.encode(v))

    def encode_left(self, tokens: Tokens) -> Array:
        (u,) = self.embed(tokens)
        return self.encode(u)

    encode_right = encode_left

    def match(self, u: Array, v: Array) -> Array:
        return self.score(u, v)

    def encode(self, u: Seq) -> Array:
        return self.layers(u.x.sum(1) + self.bias)  # [B, code]
