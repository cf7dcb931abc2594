"""DSSM: a text is a bag of letter trigrams, folded into a short vector, compared by cosine."""

import torch
from torch import Tensor, nn

from pairlight.models.base import Apart
from pairlight.parts import Seq, Tokens
from pairlight.parts.letters import Spelt, glorot
from pairlight.parts.score import CosineScore


class DSSM(Apart[Tensor]):
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
    view = "trigrams"
    recipe = {"loss": "softmax", "smoothing": 5.0, "optimizer": "adam", "lr": 0.0003, "weight_decay": 0.0001}

    def __init__(self, vocab: int, *, hidden: int = 300, code: int = 128) -> None:
        super().__init__()
        self.words = Spelt(vocab, hidden)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.layers = nn.Sequential(nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, code), nn.Tanh())
        self.score = CosineScore()

    def reset(self, scale: float) -> None:
        super().reset(scale)
        glorot(self)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        u, v = self.words(left, right)  # together, because each distinct word is then summed once
        return self.match(self.encode(u), self.encode(v))

    def left(self, tokens: Tokens) -> Tensor:
        (u,) = self.words(tokens)
        return self.encode(u)

    right = left

    def match(self, u: Tensor, v: Tensor) -> Tensor:
        return self.score(u, v)

    def encode(self, u: Seq) -> Tensor:
        return self.layers(u.x.sum(1) + self.bias)  # [B, code]
