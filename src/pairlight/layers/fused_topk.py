"""An interaction and k-max pooling in one step, without storing the grid or the gradients of cells not kept."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.heads import MLP, LinearScore, kernel_head
from pairlight.layers.interactions import Interaction, Product
from pairlight.layers.layer import Layer
from pairlight.layers.stored import KMaxScorer, StoredScorer
from pairlight.layers.topk import KMax
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, Seq

MAX_K = 16  # for a larger k, the gradient of the whole grid is cheaper than computing single cells again


def fused_topk(interact: Interaction, aggregate: KMax, u: Seq, v: Seq) -> Array:
    """aggregate(interact(u, v)), computed without storing the grid.

    In training, the k cells that are kept are computed a second time, with gradient; all other cells have a gradient of
    zero. Layers that are watched by a trace run one after the other.
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


def stored_topk(interact: Interaction, aggregate: KMax, score: Layer) -> StoredScorer | None:
    """score(aggregate(interact(u, v))) for stored v, in one pass over them where the interaction is a product."""
    if not isinstance(interact, Product) or not isinstance(score, MLP | LinearScore):
        return None
    if not array_namespace(score.out.weight).has_kernels(score.out.weight) or is_watched(interact, aggregate, score):
        return None
    head = kernel_head(None, score) if isinstance(score, MLP) else kernel_head(score.out, None)
    return KMaxScorer(interact, aggregate.k, head)


def _largest_cells(interact: Interaction, k: int, u: Seq, v: Seq) -> tuple[Array, Array]:
    """The values and the grid positions of the k largest cells of every channel, without gradient."""
    xp = array_namespace(u.x)
    with xp.no_grad():
        if isinstance(interact, Product):
            a, b, offset, relu = interact.factors(u, v)
            found: tuple[Array, Array] = xp.product_kmax(a, b, u.lengths, v.lengths, k, offset=offset, relu=relu)
        else:
            found = xp.kmax(interact(u, v).x, xp.tile(u.lengths, len(v.x) // len(u.x)), v.lengths, k)
    return found


def _words_at(u: Seq, positions: Array) -> Seq:
    """The words at these positions of each pair's text: [B, C, K] -> Seq of B·C·K one-word texts."""
    xp = array_namespace(u.x)
    pair = xp.arange(len(positions), positions)[:, None, None] % len(u.x)  # a left text may belong to several pairs
    at = (pair * u.x.shape[1] + positions).reshape(-1, 1)
    x = xp.rows(u.x.reshape(-1, u.x.shape[-1]), at)  # [B·C·K, 1, D]
    return Seq(x, xp.ones_like_ids(at), u.ids.reshape(-1)[at])
