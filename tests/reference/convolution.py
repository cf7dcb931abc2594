"""Slow twins of the models that shrink texts by convolution and pooling."""

import numpy as np

from reference import words as w


def ceil_half(n):
    return (n + 1) // 2


def filtered(weights, name, windows):
    """W window + b, or W window where there is no bias."""
    W, b = weights[f"{name}.weight"], weights.get(f"{name}.bias", 0)
    return [W @ window + b for window in windows]


def filled(vectors, length):
    """The text in a frame of fixed length, and which of its places are on."""
    kept = vectors[:length]
    blank = [np.zeros(len(vectors[0]))] * (length - len(kept))
    return [*kept, *blank], [True] * len(kept) + [False] * len(blank)


def narrow(weights, name, x, on, width):
    """Every window that fits into the frame; on where it touches a place that is."""
    starts = range(len(x) - width + 1)
    y = filtered(weights, name, [np.concatenate(x[t : t + width]) for t in starts])
    return y, [any(on[t : t + width]) for t in starts]


def arc_i(weights, settings, left, right, letters):
    width, layers = settings["width"], settings["layers"]

    def code(x, number):
        if settings["preset"] == "mv-lstm":
            return dynamic_cnn(weights, f"encode.{number}", settings, x, least=4, top=1)
        x, on = filled(x, settings["length"])
        for layer in range(layers):
            y, gate = narrow(weights, f"encode.0.halvings.{layer}.conv.filters", x, on, width)
            y = [w.relu(value) if open_ else np.zeros_like(value) for value, open_ in zip(y, gate, strict=True)]
            x = [np.max(y[2 * t : 2 * t + 2], axis=0) for t in range(ceil_half(len(y)))]
            on = [any(gate[2 * t : 2 * t + 2]) for t in range(len(x))]
        return np.concatenate(x)

    u, v = w.words(weights, settings, left, right)
    return w.mlp(weights, "score", np.concatenate([code(u, 0), code(v, 1)]))


def arc_ii(weights, settings, left, right, letters):
    width, length = settings["width"], settings["length"]
    u, v = w.words(weights, settings, left, right)
    (x, _), (y, _) = filled(u, length), filled(v, length)
    A, B = weights["interact.left.conv.filters.weight"], weights["interact.right.conv.filters.weight"]
    W, b = np.concatenate([A, B], axis=1), weights["interact.right.conv.filters.bias"]

    def pair(i, j):
        if i >= len(u) or j >= len(v):
            return np.zeros(len(b))
        return w.relu(W @ np.concatenate([*x[i : i + width], *y[j : j + width]]) + b)

    side = length - width + 1
    z = halved_grid(np.array([[pair(i, j) for j in range(side)] for i in range(side)]))
    rows, columns = len(u), len(v)
    for layer in range(settings["layers"] - 1):
        # [maps, channels, rows, columns] as one long filter over a window of cells
        F, b = (weights[f"aggregate.halvings.{layer}.filters.{kind}"] for kind in ("weight", "bias"))
        side, rows, columns = len(z) - width + 1, ceil_half(rows), ceil_half(columns)
        grid = np.zeros((side, side, len(b)))
        for i in range(min(side, rows)):
            for j in range(min(side, columns)):
                grid[i, j] = w.relu(np.einsum("fcab,abc->f", F, z[i : i + width, j : j + width]) + b)
        z = halved_grid(grid)
    return w.mlp(weights, "score", z.transpose(2, 0, 1).ravel())


def halved_grid(z):
    half = range(ceil_half(len(z)))
    return np.array([[z[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max((0, 1)) for j in half] for i in half])


def cntn(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    T, U = weights["score.weight"], weights["score.linear"]
    if settings["preset"] == "mv-lstm":
        a, b = (dynamic_cnn(weights, f"encode.{i}", settings, x, least=4, top=1) for i, x in enumerate((u, v)))
        cells = [a @ (T[c].T @ T[c]) @ b + U[c] @ a + U[c] @ b for c in range(len(T))]
        return float(w.linear(weights, "score.out", np.tanh(cells))[0])
    top = settings["top"]
    a, b = (
        w.linear(weights, f"encode.{i}.1", dynamic_cnn(weights, f"encode.{i}.0", settings, x, least=top, top=top))
        for i, x in enumerate((u, v))
    )
    cells = [a @ T[c] @ b + U[c] @ np.concatenate([a, b]) + weights["score.bias"][c] for c in range(len(T))]
    return float(weights["score.out.weight"][0] @ np.tanh(cells))


def dynamic_cnn(weights, name, settings, x, least, top):
    n, width, layers = len(x), settings["width"], settings["layers"]
    for layer in range(1, layers + 1):
        blank = [np.zeros(len(x[0]))] * (width - 1)
        x = [*blank, *x, *blank]
        y = np.array(
            filtered(
                weights,
                f"{name}.convs.{layer - 1}.filters",
                [np.concatenate(x[t : t + width]) for t in range(len(x) - width + 1)],
            )
        )
        k = top if layer == layers else max(least, int(np.ceil(round((layers - layer) * n / layers, 9))))
        x = list(np.stack([strongest(np.tanh(y[:, f]), k) for f in range(y.shape[1])], axis=1))
    return np.concatenate([*x, *[np.zeros(len(x[0]))] * (top - len(x))])


def strongest(values, k):
    """The k largest in their order, fewer where there are no more."""
    best = sorted(range(len(values)), key=lambda t: -values[t])[:k]
    return np.array([values[t] for t in sorted(best)])
