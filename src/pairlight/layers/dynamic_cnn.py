"""A text becomes one vector: wide convolutions, each followed by a pooling that keeps more of a longer text."""

from torch import Tensor

from pairlight.layers.convolution import WideConv
from pairlight.layers.kmax_pool import dynamic_kmax
from pairlight.layers.layer import Layer
from pairlight.layers.types import Seq


class DynamicCNN(Layer):
    """z = tanh(dynamic k-max of W [z_t-m+1 ; .. ; z_t] + b), layer upon layer, `top` places at the end.   Seq -> [B, D]

    Kalchbrenner's network, with filters that see every feature of the layer below. tanh keeps the order of numbers,
    so that it may come after the pooling, where fewer are left.
    """

    def __init__(
        self, dim: int, maps: int, width: int, layers: int, *, least: int, top: int, bias: bool = True
    ) -> None:
        self.least, self.top = least, top
        self.convs = list(WideConv(maps if layer else dim, maps, width, bias) for layer in range(layers))
        self.features = maps * top

    def forward(self, u: Seq) -> Tensor:
        lengths = u.lengths
        for layer, conv in enumerate(self.convs, 1):
            u = dynamic_kmax(conv(u), lengths, layer, len(self.convs), self.least, self.top)
            u = u.with_x(u.x.tanh())
        return u.x.flatten(1)  # [B, top·maps]
