"""Soft alignment of two texts, and the comparison and pooling that follow it in ESIM."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear, Sequential
from pairlight.layers.layer import Layer
from pairlight.layers.tracing import is_watched
from pairlight.layers.types import Array, Grid, Seq, tile_left_vectors


class SoftAlignment(Layer):
    """ũ_i = sum_j softmax_j(s_ij) v_j,   ṽ_j = sum_i softmax_i(s_ij) u_i.   Grid, Seq, Seq -> Seq, Seq"""

    def forward(self, s: Grid, u: Seq, v: Seq) -> tuple[Seq, Seq]:
        to_right, to_left = self.weights(s)
        u, v = without_padding(u), without_padding(v)
        xp = array_namespace(to_left)
        for_left, for_right = xp.matmul(to_right, v.x), xp.matmul(xp.transpose(to_left, 1, 2), u.x)
        return without_padding(Seq(for_left, u.mask, u.ids)), without_padding(Seq(for_right, v.mask, v.ids))

    def weights(self, s: Grid) -> tuple[Array, Array]:
        """The attention of left words to right words, and of right words to left words: [B, L, R] each."""
        xp = array_namespace(s.x)
        e = s.x[:, 0]  # [B, L, R]
        if not s.mask.all():
            # The smallest finite number instead of -inf, so that rows of padding and their gradients stay finite.
            e = xp.where(s.mask, e, xp.smallest_number(e))
        return xp.softmax(e, 2), xp.softmax(e, 1)


def compare(u: Seq, aligned: Seq) -> Seq:
    """m_i = [u_i ; ũ_i ; u_i - ũ_i ; u_i ũ_i].   Seq, Seq -> Seq"""
    return u.with_x(array_namespace(u.x).cat([u.x, aligned.x, u.x - aligned.x, u.x * aligned.x], -1))


def fused_comparison(project: Sequential, whole: Seq, u: Seq, aligned: Seq) -> Seq:
    """project(compare(u, aligned)) for a projection that starts with a linear layer; `whole` is u before `tile_left`.

    With the parts of its weight, W [u ; ũ ; u - ũ ; u ũ] = (W1 + W3) u + (W2 - W3) ũ + W4 (u ũ): a quarter less to
    multiply, and the first product is that of all pairs with the same left text. Layers that are watched by a trace run
    one after the other.
    """
    linear, *rest = project.steps
    if not isinstance(linear, Linear) or linear.bias is None or is_watched(project, *project.steps):
        m = compare(u, aligned)
        return m.with_x(project(m.x))
    xp, D = array_namespace(u.x), u.x.shape[-1]
    own, other, difference, both = (linear.weight[:, i * D : (i + 1) * D] for i in range(4))  # [outputs, D] each
    y = tile_left_vectors(xp.add_product(linear.bias, whole.x, own + difference), u.x)[0]
    y = xp.add_product(y, aligned.x, other - difference)
    y = xp.add_product(y, u.x * aligned.x, both)
    for step in rest:
        y = step(y)
    return without_padding(Seq(y, u.mask, u.ids))


def without_padding(u: Seq) -> Seq:
    """The same sequence, zero under padding; not copied if there is none."""
    return u if u.mask.all() else u.with_x(u.x)


def mean_max_pool(u: Seq) -> Array:
    """[mean of x_t ; max of x_t in every dimension] over the words of a text.   Seq -> [B, 2·D]"""
    x = without_padding(u).x
    xp = array_namespace(x)
    below = x if u.mask.all() else xp.where(u.mask[..., None], x, -float("inf"))
    pooled: Array = xp.cat([x.sum(1) / xp.cast(u.lengths, x)[:, None], xp.amax(below, 1)], -1)
    return pooled
