"""A text becomes one vector: wide convolutions, each followed by a pooling that keeps more of a longer text."""

from torch import Tensor, nn

from pairlight.parts import Seq
from pairlight.parts.convolve import WideConv
from pairlight.parts.pool import dynamic_kmax


class DynamicCNN(nn.Module):
    """z = tanh(dynamic k-max of W [z_t-m+1 ; .. ; z_t] + b), layer upon layer, `top` places at the end.   Seq -> [B, D]

    Kalchbrenner's network, with filters that see every feature of the layer below. tanh keeps the order of numbers,
    so that it may come after the pooling, where fewer are left.
    """

    def __init__(
        self, dim: int, maps: int, width: int, layers: int, *, least: int, top: int, bias: bool = True
    ) -> None:
        super().__init__()
        self.least, self.top = least, top
        self.convs = nn.ModuleList(WideConv(maps if layer else dim, maps, width, bias) for layer in range(layers))
        self.features = maps * top

    def forward(self, u: Seq) -> Tensor:
        lengths = u.lengths
        for layer, conv in enumerate(self.convs, 1):
            u = dynamic_kmax(conv(u), lengths, layer, len(self.convs), self.least, self.top)
            u = u.with_x(u.x.tanh())
        return u.x.flatten(1)  # [B, top·maps]
