"""CDSSM: letter trigrams word by word, read in windows of three words, the strongest window of each unit kept."""

import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.layers.basic import Linear
from pairlight.layers.char_ngrams import CharNgramEmbedding, glorot_uniform, windows_of_three
from pairlight.layers.heads import CosineScore
from pairlight.layers.settings import Size
from pairlight.layers.types import Seq, Tokens
from pairlight.models.base import DualEncoder
from pairlight.text.inputs import InputSpec


class CDSSM(DualEncoder[Tensor]):
    """Read each text in windows of three words, keep what is strongest in it, compare by cosine.

    f_t = how often each letter trigram stands in word t; zero before the first word and behind the last
    h_t = tanh(Wc [f_t-1 ; f_t ; f_t+1])
    v   = the largest of h_1 .. h_n, unit by unit
    y   = tanh(Ws v)
    s   = cosine(y of the left text, y of the right text)

    One set of weights reads both sides and starts in Glorot's range; there are no biases, as in the paper's equations.
    Trained by the softmax over one better and J worse texts.

    Unlike the paper: the mark of a text's two ends is the zero vector, not a word of its own; the optimiser is Adam
    with weight decay, not plain gradient descent.

    Settings:
      hidden  units of the convolution
      code    size of the vector y that a text becomes
    """

    paper = "Shen et al., CIKM 2014"
    family = "composition"
    inputs = InputSpec(input_kind="trigrams")
    training_defaults = {
        "loss": "listwise",
        "softmax_scale": 5.0,
        "optimizer": "adam",
        "lr": 0.001,
        "weight_decay": 0.0001,
    }

    def __init__(self, vocab: int, *, hidden: Size = 300, code: Size = 128) -> None:
        self.embed = CharNgramEmbedding(vocab, hidden, window=3)
        self.out = Linear(hidden, code, bias=False)
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
        h = windows_of_three(F.pad(u.x, (0, 0, 1, 1)))  # [B, L, hidden]
        # tanh keeps order: taken behind the maximum it is taken once a text.
        v = h.masked_fill(~u.mask[..., None], -torch.inf).amax(1).tanh()  # [B, hidden]
        return self.out(v).tanh()  # [B, code]
