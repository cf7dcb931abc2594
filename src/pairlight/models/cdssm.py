"""CDSSM: DSSM with a convolution over windows of three words and max pooling."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.char_ngrams import CharNgramEmbedding, init_glorot_uniform
from pairlight.layers.heads import CosineScore
from pairlight.layers.settings import Size
from pairlight.layers.types import Array, Seq, Tokens
from pairlight.layers.window_max import WindowMax
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec


class CDSSM(DualEncoder[Array]):
    """Encode each text by a convolution over character trigrams with max pooling, compare by cosine.

    f_t = number of times that each character trigram occurs in word t; zero before the first and after the last word
    h_t = tanh(Wc [f_t-1 ; f_t ; f_t+1])
    v   = max of h_1 .. h_n in every dimension
    y   = tanh(Ws v)
    s   = cosine(y of the left text, y of the right text)

    Both texts share all weights, which are initialized with Glorot's bound. There are no biases, as in the equations of
    the paper. Trained with a softmax over one positive and J negatives.

    Unlike the paper: both ends of a text are marked by a zero vector, not by a word of their own; the optimizer is Adam
    with weight decay, not plain gradient descent.

    Settings:
      hidden  size of h
      code    size of the text vector y
    """

    paper = "Shen et al., CIKM 2014"
    family = "composition"
    inputs = InputSpec(input_kind="trigrams")
    bounded_score = True
    training_defaults = {"lr": 0.0003}
    paper_training = {
        "loss": "listwise",
        "softmax_scale": 5.0,
        "optimizer": "adam",
        "lr": 0.001,
        "weight_decay": 0.0001,
    }

    def __init__(self, vocab: int, *, hidden: Size = 300, code: Size = 128) -> None:
        self.embed = CharNgramEmbedding(vocab, hidden, window=3)
        self.pool = WindowMax()
        self.out = Linear(hidden, code, bias=False)
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
        # tanh is monotonic, so it follows the pooling, where fewer values are left.
        xp = array_namespace(u.x)
        v = xp.tanh(self.pool(u))  # [B, hidden]
        y: Array = xp.tanh(self.out(v))  # [B, code]
        return y
