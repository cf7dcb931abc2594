"""k-max pooling of an interaction without computing the whole grid, and with gradients for the kept cells only."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.interactions import Interaction, Product
from pairlight.layers.topk import KMax
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, Seq

MAX_K = 16  # for a larger k, the gradient of the whole grid is cheaper


def fused_topk(interact: Interaction, aggregate: KMax, u: Seq, v: Seq) -> Array:
    """aggregate(interact(u, v)): when scoring without a grid, in training with a gradient for the k cells kept.

    All other cells have a gradient of zero, so they need no backward pass. Layers that are traced run unfused.
    """
    xp = array_namespace(u.x)
    gradient = xp.grad_enabled()
    whole = gradient and not (interact.training and aggregate.k <= MAX_K)
    if whole or is_watched(interact, aggregate):
        q: Array = aggregate(interact(u, v))
        return q
    values, positions = _largest_cells(interact, aggregate.k, u, v)  # [B, C, K]
    if not gradient:
        return values.reshape(len(values), -1)
    R, at = v.x.shape[1], positions.clamp(min=0)
    cells = interact.cells(_words_at(u, at // R), _words_at(v, at % R), aggregate.k)  # [B, C, K]
    return xp.where(positions < 0, 0, cells).reshape(len(cells), -1)


def _largest_cells(interact: Interaction, k: int, u: Seq, v: Seq) -> tuple[Array, Array]:
    """The values of the k largest cells and their positions in the grid, without gradient."""
    xp = array_namespace(u.x)
    with xp.no_grad():
        if isinstance(interact, Product):
            a, b, offset, relu = interact.factors(u, v)
            found: tuple[Array, Array] = xp.product_kmax(a, b, u.lengths, v.lengths, k, offset=offset, relu=relu)
        else:
            found = xp.kmax(interact(u, v).x, xp.tile(u.lengths, len(v.x) // len(u.x)), v.lengths, k)
    return found


def _words_at(u: Seq, positions: Array) -> Seq:
    """The words at these positions of each pair's own text: [B, C, K] -> Seq of B·C·K texts of one word."""
    xp = array_namespace(u.x)
    pair = xp.arange(len(positions), positions)[:, None, None] % len(u.x)  # a left text may belong to several pairs
    at = (pair * u.x.shape[1] + positions).reshape(-1, 1)
    x = xp.rows(u.x.reshape(-1, u.x.shape[-1]), at)  # [B·C·K, 1, D]
    return Seq(x, xp.ones_like_ids(at), u.ids.reshape(-1)[at])
