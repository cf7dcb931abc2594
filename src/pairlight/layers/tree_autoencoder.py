"""The unfolding recursive autoencoder: a vector for every node of a text's tree."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, buffer, parameter
from pairlight.layers.tracing import note
from pairlight.layers.trees import Trees, build_trees
from pairlight.layers.types import Array, Seq

# Errors that differ by less count as equal, and the first pair is joined, so that rounding never decides about a tree.
TOLERANCE = 1e-5


class TreeAutoencoder(Layer):
    """p = tanh(W [a ; b] + c) for the children a, b of a node; decoded by [a' ; b'] = tanh(V p + d).   Seq -> Seq

    The output has one vector per node. The tree of a text without a parse is built greedily: the two neighbors with the
    smallest reconstruction error |a - a'|² + |b - b'|² are joined next. The weights are buffers, not parameters: they
    are trained without labels, before the model, by minimizing `reconstruction_error`.
    """

    encoder_weight: Array
    encoder_bias: Array
    decoder_weight: Array
    decoder_bias: Array

    def __init__(self, dim: int) -> None:
        bound = (6 / (3 * dim)) ** 0.5
        self.encoder_weight = _random_buffer(dim, 2 * dim, bound)
        self.encoder_bias = buffer(dim)
        self.decoder_weight = _random_buffer(2 * dim, dim, bound)
        self.decoder_bias = buffer(2 * dim)

    def forward(self, u: Seq, parse: Array | None = None) -> Seq:
        trees = self.trees(u, parse)
        note(self, trees)
        xp = array_namespace(u.x)
        x, ids = self.node_vectors(u, trees), xp.pad(u.ids, [(0, u.ids.shape[1] - 1)])
        rows = xp.arange(len(x), x)[:, None]
        x = xp.where(trees.mask[..., None], x[rows, trees.order], 0)  # [B, 2L-1, D]
        return Seq(x, trees.mask, ids[rows, trees.order])

    def encode(self, pairs: Array) -> Array:
        """The vector of a node from those of its children: [..., 2·D] -> [..., D]."""
        xp = array_namespace(pairs)
        y: Array = xp.tanh(xp.linear(pairs, self.encoder_weight, self.encoder_bias))
        return y

    def decode(self, nodes: Array) -> Array:
        """The children reconstructed from the vector of their node: [..., D] -> [..., 2·D]."""
        xp = array_namespace(nodes)
        y: Array = xp.tanh(xp.linear(nodes, self.decoder_weight, self.decoder_bias))
        return y

    def trees(self, u: Seq, parse: Array | None = None) -> Trees:
        """The tree of each text: from its parse, given as merge positions [B, L], or else greedy."""
        joins = self.greedy_joins(u)
        if parse is not None:
            xp = array_namespace(parse)
            joins = xp.where(parse[:, :1] >= 0, xp.clip(parse[:, :-1], 0), joins)
        return build_trees(joins, u.lengths)

    def greedy_joins(self, u: Seq) -> Array:
        """The position of the first of the two neighbors joined in each step: [B, L-1]."""
        with array_namespace(u.x).no_grad():
            return self._greedy_joins(u)

    def _greedy_joins(self, u: Seq) -> Array:
        xp = array_namespace(u.x)
        B, L, D = u.x.shape
        # The nodes left in each text form a linked list with a sentinel at both ends, so that no vector is moved.
        position, row = xp.arange(L + 2, u.x), xp.arange(B, u.x)
        first, last = row[:, None] * (L + 2), u.lengths[:, None]
        after = (first + xp.where(position < last, position + 1, L + 1)).reshape(-1)  # [B·(L+2)]
        before = (first + xp.clip(position - 1, 0)).reshape(-1)
        sentinel = ((position == 0) | (position > last)).reshape(-1)
        x = xp.pad(u.with_x(u.x).x, [(1, 1), (0, 0)]).reshape(-1, D)
        joined, error = xp.zeros(x.shape, x), xp.zeros((len(x),), x)
        rank = xp.broadcast_to(position - 1, (B, L + 2))  # how many nodes precede each one in its text

        def try_join(node: Array) -> None:
            pairs = xp.cat([x[node], x[after[node]]], -1)
            new = self.encode(pairs)
            joined[node] = new
            loss = ((pairs - self.decode(new)) ** 2).sum(-1)
            error[node] = xp.where(sentinel[node] | sentinel[after[node]], float("inf"), loss)

        try_join(xp.arange(len(x), x))
        steps = []
        for _ in range(L - 1):
            errors = error.reshape(B, -1)
            smallest = -xp.amax(-errors, 1)[:, None]
            best = xp.argmax(xp.cast(errors <= smallest + TOLERANCE, errors))[:, 0]  # [B] the first of them
            steps.append(xp.clip(rank[row, best], 0))
            at = first[:, 0] + best
            removed = after[at]
            x[at], error[removed] = joined[at], float("inf")
            after[at], before[after[removed]] = after[removed], at
            rank = rank - xp.cast(position >= (removed - first[:, 0])[:, None], rank)
            try_join(xp.cat([before[at], at]))  # only the two pairs that contain the new node have changed
        joins: Array = xp.stack(steps, 1) if steps else xp.zeros((B, 0), position)
        return joins

    def node_vectors(self, u: Seq, trees: Trees) -> Array:
        """The vector of every node, words first, then in the order of the steps: [B, 2L-1, D]."""
        xp = array_namespace(u.x)
        B, L, D = u.x.shape
        x = xp.pad(u.x, [(0, L - 1), (0, 0)]).reshape(-1, D)  # [B·(2L-1), D]
        children = _flat_numbers(trees.children, L)  # [B, L-1, 2]
        for height in range(1, int(trees.height.max()) + 1 if L > 1 else 1):
            row, step = xp.nonzero(trees.height == height)
            x[row * (2 * L - 1) + L + step] = self.encode(x[children[row, step]].reshape(-1, 2 * D))
        nodes: Array = x.reshape(B, 2 * L - 1, D)
        return nodes

    def reconstruction_error(self, u: Seq, parse: Array | None = None) -> Array:
        """The sum of |x_t - x'_t|² over all inner nodes and the words x_t below them, x'_t decoded from the node."""
        trees = self.trees(u, parse)
        L = u.x.shape[1]
        xp = array_namespace(u.x)
        x = self.node_vectors(u, trees).flatten(0, 1)  # [B·(2L-1), D]
        children = xp.pad(_flat_numbers(trees.children, L), [(L, 0), (0, 0)]).reshape(-1, 2)  # [B·(2L-1), 2]
        row, step = xp.nonzero(trees.height)
        node = row * (2 * L - 1) + L + step
        y, total = x[node], x.new_zeros(())
        while len(node):
            y = self.decode(y).view(-1, u.x.shape[-1])  # both children of every node
            node = children[node].flatten()
            word = node % (2 * L - 1) < L
            total = total + (y[word] - x[node[word]]).square().sum()
            node, y = node[~word], y[~word]
        return total


def _flat_numbers(nodes: Array, L: int) -> Array:
    """Node numbers within a text as node numbers within the batch."""
    numbers: Array = nodes + array_namespace(nodes).arange(len(nodes), nodes)[:, None, None] * (2 * L - 1)
    return numbers


def _random_buffer(rows: int, columns: int, bound: float) -> Array:
    weight = parameter(rows, columns, bound=bound)
    buffer: Array = array_namespace(weight).detach(weight)
    return buffer
