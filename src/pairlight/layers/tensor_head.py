"""Neural tensor layers that score two texts, each given as one vector.   [B, D], [B, D] -> [B]"""

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.types import Array, tile_left_vectors


class TensorScore(Layer):
    """s = w·tanh(u·M^c v + V^c [u ; v] + b^c, for every slice c)"""

    def __init__(self, dim: int, channels: int) -> None:
        self.weight = parameter(channels, dim, dim)
        self.linear = parameter(channels, 2 * dim)
        self.bias = parameter(channels, bound=0)
        self.out = Linear(channels, 1, bias=False)

    def forward(self, u: Array, v: Array) -> Array:
        xp = array_namespace(u)
        C, D, _ = self.weight.shape
        # u·M v + V_v·v = (u M + V_v)·v: computed once for each left text, before it is tiled.
        folded = xp.einsum("bd,cde->bce", u, self.weight) + self.linear[:, D:]  # [B, C, D]
        offset = xp.linear(u, self.linear[:, :D], self.bias)  # [B, C]
        u, v = tile_left_vectors(xp.cat([folded.reshape(len(u), -1), offset], 1), v)
        slices = (u[:, :-C].reshape(-1, C, D) @ v[..., None])[..., 0] + u[:, -C:]  # [B, C]
        s: Array = self.out(xp.tanh(slices))[:, 0]
        return s


class SymmetricTensorScore(Layer):
    """s = w·tanh((T^c u)·(T^c v) + V^c (u + v), for every slice c) + d, with the same weights for both texts"""

    def __init__(self, dim: int, channels: int) -> None:
        self.weight = parameter(channels, dim, dim)
        self.linear = parameter(channels, dim)
        self.out = Linear(channels, 1)

    def forward(self, u: Array, v: Array) -> Array:
        a, b = tile_left_vectors(self.project(u), self.project(v))
        C, D, _ = self.weight.shape
        slices = (a[:, :-C] * b[:, :-C]).reshape(-1, C, D).sum(-1) + a[:, -C:] + b[:, -C:]  # [B, C]
        s: Array = self.out(array_namespace(a).tanh(slices))[:, 0]
        return s

    def project(self, u: Array) -> Array:
        """[T^c u for every slice c ; V^c u for every slice c]."""
        xp = array_namespace(u)
        C, D, _ = self.weight.shape
        slices = xp.linear(u, self.weight.reshape(C * D, D))
        y: Array = xp.cat([slices, xp.linear(u, self.linear)], 1)  # [B, C·D + C]
        return y
