"""A text encoder of wide convolutions with dynamic k-max pooling."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.convolution import WideConv
from pairlight.layers.kmax_pool import dynamic_kmax_pool
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Seq


class DynamicCNN(Layer):
    """z = tanh(dynamic k-max pooling of W [z_t-m+1 ; .. ; z_t] + b), repeated; z = x at first.   Seq -> [B, D]

    Kalchbrenner et al.'s network, with filters over all features of the layer below. The last layer keeps `top`
    positions, the others at least `least`. tanh is monotonic, so it follows the pooling, where fewer values are left.
    """

    def __init__(
        self, dim: int, maps: int, width: int, layers: int, *, least: int, top: int, bias: bool = True
    ) -> None:
        self.least, self.top = least, top
        self.convs = [WideConv(maps if layer else dim, maps, width, bias) for layer in range(layers)]
        self.features = maps * top

    def forward(self, u: Seq) -> Array:
        lengths = u.lengths
        for layer, conv in enumerate(self.convs, 1):
            u = dynamic_kmax_pool(conv(u), lengths, layer, len(self.convs), self.least, self.top)
            u = u.with_x(array_namespace(u.x).tanh(u.x))
        return u.x.reshape(len(u.x), -1)  # [B, top·maps]
