"""A vector becomes the one number a pair is ranked by: [B, D] -> [B]."""

from torch import Tensor, nn
from torch.nn import functional as F

from pairlight.parts import facing_vectors
from pairlight.parts.interact import unit


class MLP(nn.Module):
    """s = w·relu(W q + b) + c"""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, q: Tensor) -> Tensor:
        return self.out(F.relu(self.hidden(q)))[:, 0]


class CosineScore(nn.Module):
    """s = u·v / (|u| |v|) of one vector a text"""

    def forward(self, u: Tensor, v: Tensor) -> Tensor:
        u, v = facing_vectors(unit(u), unit(v))
        return (u * v).sum(-1)
