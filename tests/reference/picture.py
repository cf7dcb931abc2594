"""Slow twins of the models that look at the grid of interactions as at a picture."""

import numpy as np

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
    u, v = w.words(weights, settings, left, right)
    s = np.array([[w.cosine(a, b) for b in v] for a in u])
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
