"""Interactions compare every position of one text with every position of the other.   Seq, Seq -> Grid"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from pairlight.core.errors import unknown_name
from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, parameter
from pairlight.layers.types import Array, Grid, Seq, masked_grid, tile_left

EPSILON = 1e-8

InteractionName = Literal["cosine", "cosine-per-direction", "dot", "indicator", "gaussian", "bilinear", "tensor"]


def unit(x: Array) -> Array:
    """Vectors of length 1; a zero vector stays zero."""
    y: Array = array_namespace(x).normalize(x, EPSILON)
    return y


class Interaction(Layer):
    """Base class: compares two sequences in one or several channels.   Seq, Seq -> Grid"""

    channels: int = 1

    def cells(self, u: Seq, v: Seq, k: int) -> Array:
        """Selected cells only: u and v hold one word each for the k cells of every channel.   -> [B, C, K]"""
        s = self(u, v).x.reshape(-1, self.channels, k, self.channels)
        return s.diagonal(dim1=1, dim2=3).mT  # each cell in the channel it was selected for


class Factors(NamedTuple):
    """Two arrays whose product is a grid: s_ij = u_i·v_j + offset_i in every channel, optionally with relu."""

    u: Array  # [B, L, C, D], left texts, not yet tiled
    v: Array  # [B, R, C, D], or [B, R, 1, D] if all channels share it
    offset: Array | None = None  # [B, L, C]
    relu: bool = False


class Product(Interaction):
    """Base class of interactions that are a product of factors, which are computed once per word."""

    unit_parts: int = (
        0  # parts of a vector of the right text that are divided by their lengths; the rest stays as it is
    )

    def factors(self, u: Seq, v: Seq) -> Factors:
        raise TypeError(f"{type(self).__name__} defines no factors.")

    def forward(self, u: Seq, v: Seq) -> Grid:
        factors = self.factors(u, v)
        s = product(factors)
        xp = array_namespace(s)
        u, v = tile_left(u, v)
        if factors.offset is not None:
            offset = xp.tile(factors.offset, len(s) // len(factors.offset))
            s = s + xp.transpose(offset, 1, 2)[..., None]
        return masked_grid(u, v, xp.relu(s) if factors.relu else s)

    def cells(self, u: Seq, v: Seq, k: int) -> Array:
        factors = self.factors(u, v)

        def own(x: Array) -> Array:
            """The factor of each cell in its own channel: -> [B, C, K, D]"""
            x = x.reshape(-1, self.channels, k, *x.shape[2:])
            return x[:, :, :, 0] if x.shape[3] == 1 else x.diagonal(dim1=1, dim2=3).movedim(-1, 1)

        s = (own(factors.u) * own(factors.v)).sum(-1)
        if factors.offset is not None:
            s = s + own(factors.offset[..., None])[..., 0]
        return s.relu() if factors.relu else s


def product(factors: Factors) -> Array:
    """u_i·v_j of all pairs of positions, including padding: [B, C, L, R]."""
    u, v = factors.u, factors.v
    xp = array_namespace(u)
    u = xp.tile(u, len(v) // len(u))
    B, L, C, D = u.shape
    if C > 1 == v.shape[2]:  # one matrix product for all channels
        s = xp.matmul(u.reshape(B, L * C, D), xp.transpose(v[:, :, 0], 1, 2))
        s = xp.transpose(s.reshape(B, L, C, -1), 1, 2)
    else:
        s = xp.matmul(xp.transpose(u, 1, 2), xp.permute(v, (0, 2, 3, 1)))
    return s


class Cosine(Product):
    """s_ij = u_i·v_j / (|u_i| |v_j|)"""

    unit_parts = 1

    def factors(self, u: Seq, v: Seq) -> Factors:
        return Factors(unit(u.x)[:, :, None], unit(v.x)[:, :, None])


class CosinePerDirection(Product):
    """Cosine of forward states in one channel, cosine of backward states in another.

    This is our interpretation of the aMV-LSTM paper, which pools the matrices of both directions. The first half of a
    vector is the forward state, the second half the backward state.
    """

    channels = unit_parts = 2

    def factors(self, u: Seq, v: Seq) -> Factors:
        a, b = (unit(side.x.reshape(*side.x.shape[:2], 2, -1)) for side in (u, v))
        return Factors(a, b)


class Dot(Product):
    """s_ij = u_i·v_j"""

    def factors(self, u: Seq, v: Seq) -> Factors:
        return Factors(u.x[:, :, None], v.x[:, :, None])


class Indicator(Interaction):
    """s_ij = 1 if the two words are identical, else 0"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        same = u.ids[:, :, None] == v.ids[:, None, :]  # [B, L, R]
        return masked_grid(u, v, array_namespace(u.x).cast(same[:, None], u.x))


class Gaussian(Interaction):
    """s_ij = exp(-|u_i - v_j|²)"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        xp = array_namespace(u.x)
        squares = (u.x**2).sum(-1)[:, :, None] + (v.x**2).sum(-1)[:, None, :]
        distance = xp.clip(xp.matmul(2 * u.x, xp.transpose(v.x, 1, 2)) - squares, high=0)
        return masked_grid(u, v, xp.exp(distance)[:, None])  # [B, 1, L, R]


class NegativeDistance(Interaction):
    """s_ij = -|u_i - v_j|"""

    def forward(self, u: Seq, v: Seq) -> Grid:
        u, v = tile_left(u, v)
        return masked_grid(u, v, -array_namespace(u.x).distances(u.x, v.x)[:, None])  # [B, 1, L, R]


class Bilinear(Product):
    """s_ij = u_i·M v_j + b, where M starts near the identity"""

    def __init__(self, dim: int) -> None:
        self.weight = parameter(dim, dim)
        self.bias = parameter(1, bound=0)

    def adjust_start(self) -> None:
        self.weight.diagonal().add_(1)

    def factors(self, u: Seq, v: Seq) -> Factors:
        xp = array_namespace(u.x)
        offset = xp.broadcast_to(self.bias, (*u.mask.shape, 1))
        return Factors(xp.matmul(u.x, self.weight)[:, :, None], v.x[:, :, None], offset)


class TensorLayer(Product):
    """s_ij = relu(u_i·M^c v_j + W^c [u_i ; v_j] + b^c) in every channel c: the neural tensor layer.

    Every M^c starts near the identity.
    """

    def __init__(self, dim: int, channels: int) -> None:
        self.channels = channels
        self.weight = parameter(channels, dim, dim)
        self.linear = parameter(channels, 2 * dim)
        self.bias = parameter(channels, bound=0)

    def adjust_start(self) -> None:
        self.weight.diagonal(dim1=1, dim2=2).add_(1)

    def factors(self, u: Seq, v: Seq) -> Factors:
        xp = array_namespace(u.x)
        C, D, _ = self.weight.shape
        # u·M^c v + w_v·v = (u M^c + w_v)·v, so the linear part that belongs to v is added to the product with M.
        folded = xp.linear(u.x, xp.transpose(self.weight, 1, 2).reshape(C * D, D), self.linear[:, D:].reshape(-1))
        offset = xp.linear(u.x, self.linear[:, :D], self.bias)
        return Factors(folded.reshape(*u.x.shape[:2], C, D), v.x[:, :, None], offset, relu=True)

    def cells(self, u: Seq, v: Seq, k: int) -> Array:
        # Each cell is needed in one channel only; the method of the base class would compute it in all of them.
        xp = array_namespace(u.x)
        C, D, _ = self.weight.shape
        a, b = (side.x.reshape(-1, C, k, D) for side in (u, v))  # [B, C, K, D]
        folded = xp.einsum("bckd,cde->bcke", a, self.weight) + self.linear[:, None, D:]
        own = (a * self.linear[:, None, :D]).sum(-1) + self.bias[:, None]  # [B, C, K]
        s: Array = xp.relu((folded * b).sum(-1) + own)
        return s


def build_interaction(name: str, dim: int, channels: int = 1) -> Interaction:
    """The interaction with this name; `channels` applies to tensor only."""
    builders: dict[str, Callable[[], Interaction]] = {
        "cosine": Cosine,
        "cosine-per-direction": CosinePerDirection,
        "dot": Dot,
        "indicator": Indicator,
        "gaussian": Gaussian,
        "bilinear": lambda: Bilinear(dim),
        "tensor": lambda: TensorLayer(dim, channels),
    }
    if name not in builders:
        raise unknown_name("interaction", name, builders)
    return builders[name]()
