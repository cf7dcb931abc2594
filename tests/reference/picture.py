"""Slow twins of the models that look at the grid of interactions as at a picture."""

import numpy as np

from reference import convolution, value
from reference import words as w


def convolved(weights, name, maps):
    """A window centred on every cell, zeros around: [C][L][R] -> [maps][L][R]."""
    W, bias = weights[f"{name}.filters.weight"], weights[f"{name}.filters.bias"]
    _, rows, columns = maps.shape
    out = np.empty((len(W), rows, columns))
    up, back = (W.shape[2] - 1) // 2, (W.shape[3] - 1) // 2
    for f in range(len(W)):
        for i in range(rows):
            for j in range(columns):
                out[f, i, j] = bias[f]
                for a in range(W.shape[2]):
                    for b in range(W.shape[3]):
                        y, x = i + a - up, j + b - back
                        if 0 <= y < rows and 0 <= x < columns:
                            out[f, i, j] += W[f, :, a, b] @ maps[:, y, x]
    return out


def cut(length, count):
    """The positions of each of `count` pieces, the longer pieces last; a short text begins anew."""
    places = [i % length for i in range(max(length, count))]
    q, r = divmod(len(places), count)
    sizes = [q] * (count - r) + [q + 1] * r
    return [[places.pop(0) for _ in range(size)] for size in sizes]


def pooled(maps, rows, columns):
    return np.array(
        [
            [
                [max(one[i, j] for i in up for j in along) for along in cut(maps.shape[2], columns)]
                for up in cut(maps.shape[1], rows)
            ]
            for one in maps
        ]
    )


def match_pyramid(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    s = w.interact(weights, settings, u, v, left, right)
    p = pooled(w.relu(convolved(weights, "near", s)), settings["rows"], settings["columns"])
    t = w.relu(convolved(weights, "far", p))
    t = [one[i : i + 2, j : j + 2].max() for one in t for i in range(0, len(one), 2) for j in range(0, len(one[0]), 2)]
    return w.mlp(weights, "score", np.array(t))


def pacrr(weights, settings, left, right, letters):
    a, b = value.share(weights, settings, "left", left), value.share(weights, settings, "right", right)
    s = np.array(value.likeness(weights, left, right)) * np.outer(a, b)
    wider = [w.relu(convolved(weights, f"near.{n}", s[None])).max(0) for n in range(settings["grams"] - 1)]
    idf = w.softmax(np.array([weights["idf"][min(word, len(weights["idf"]) - 1)] for word in left]))
    seen = []
    for i in range(len(left)):
        features = [idf[i]]
        for one in [s, *wider]:
            best = sorted(one[i], reverse=True)[: settings["k"]]
            features += best + [0.0] * (settings["k"] - len(best))
        seen.append(np.array(features))
    return float(w.lstm(weights, "score", seen)[-1][0])


def units(weights, name, settings, x):
    """Words, phrases of every layer, and the text itself."""
    n, width, layers = len(x), settings["width"], settings["layers"]
    f = np.tanh if settings["preset"] == "paper" else w.relu
    found, z = list(x), x
    for layer in range(1, layers + 1):
        blank = [np.zeros(len(x[0]))] * (width - 1)
        wide = [*blank, *z, *blank]
        windows = [np.concatenate(wide[t : t + width]) for t in range(len(z) + width - 1)]
        y = [f(out) for out in convolution.filtered(weights, f"{name}.convs.{layer - 1}.filters", windows)]
        found += y
        k = 1 if layer == layers else max(settings["least"], -(-(layers - layer) * n // layers))
        z = list(np.stack([convolution.strongest([out[d] for out in y], k) for d in range(len(x[0]))], axis=1))
    return found + z


def widely_convolved(weights, name, maps):
    """Every window that touches the grid."""
    W, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    m = W.shape[2]
    framed = np.pad(maps, ((0, 0), (m - 1, m - 1), (m - 1, m - 1)))
    side = maps.shape[1] + m - 1
    return np.array(
        [
            [[(W[f] * framed[:, i : i + m, j : j + m]).sum() + bias[f] for j in range(side)] for i in range(side)]
            for f in range(len(W))
        ]
    )


def multigran_cnn(weights, settings, left, right, letters):
    paper = settings["preset"] == "paper"

    def alike(a, b):
        if paper and settings["interaction"] == "direct":
            return np.exp(-np.sum((a - b) ** 2) / 4)
        if paper and settings["interaction"] == "concat":
            sides = [weights["interact.inner.left.weight"][0], weights["interact.inner.right.weight"][0]]
            s = np.concatenate(sides) @ np.concatenate([a, b]) + weights["interact.inner.left.bias"][0]
        else:
            s = a @ weights["interact.inner.weight"] @ b + weights["interact.inner.bias"][0]
        return w.sigmoid(s) if paper else w.relu(s)

    u, v = w.words(weights, settings, left, right)
    u, v = units(weights, "encode.0", settings, u), units(weights, "encode.0" if paper else "encode.1", settings, v)
    g = pooled(np.array([[[alike(a, b) for b in v] for a in u]]), settings["grid"], settings["grid"])
    for block, side in enumerate([settings["middle"], settings["last"]] if paper else []):
        g = pooled(np.tanh(widely_convolved(weights, f"aggregate.convs.{block}", g)), side, side)
    return w.mlp(weights, "score", g.ravel())
