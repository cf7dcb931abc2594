"""Functions that several references share: embeddings, LSTM, interactions, k-max pooling and MLP."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def relu(x):
    return np.maximum(x, 0)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def cosine(a, b):
    return float(a @ b / (max(np.linalg.norm(a), 1e-8) * max(np.linalg.norm(b), 1e-8)))


def linear(weights, name, x):
    return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]


def mlp(weights, name, q):
    if f"{name}.hidden.weight" not in weights:  # mlp=0: one linear layer
        return float(linear(weights, f"{name}.out", q)[0])
    return float(linear(weights, f"{name}.out", relu(linear(weights, f"{name}.hidden", q)))[0])


def embed(weights, text):
    """The word vectors of a text; an id beyond the table is the unknown word, id 1."""
    table = weights["embed.embedding.weight"]
    return [table[word if word < len(table) else 1] for word in text]


def attention(weights, settings, side, text):
    """The attention weight of every word of the left or right text; 1 without a gate."""
    if settings["gate"] not in (side, "both"):
        return np.ones(len(text))
    a = softmax(np.array([weights[f"embed.{side}_gate.w"] @ x for x in embed(weights, text)]))
    return a * len(text) if settings["rescale"] else a


def embed_gated(weights, settings, left, right):
    """The word vectors of both texts, multiplied by their attention weights."""
    u = [a * x for a, x in zip(attention(weights, settings, "left", left), embed(weights, left), strict=True)]
    v = [b * x for b, x in zip(attention(weights, settings, "right", right), embed(weights, right), strict=True)]
    return u, v


def lstm(weights, name, vectors):
    """All hidden states of an LSTM over the vectors, in the order given."""
    W, b = weights[f"{name}.weight"], weights[f"{name}.bias"]
    H = len(b) // 4
    h, c, states = np.zeros(H), np.zeros(H), []
    for x in vectors:
        z = W @ np.concatenate([x, h]) + b
        i, f, o = sigmoid(z[:H]), sigmoid(z[H : 2 * H]), sigmoid(z[3 * H :])
        c = f * c + i * np.tanh(z[2 * H : 3 * H])
        h = o * np.tanh(c)
        states.append(h)
    return states


def bilstm(weights, name, vectors):
    forwards = lstm(weights, f"{name}.forwards", vectors)
    backwards = lstm(weights, f"{name}.backwards", vectors[::-1])[::-1]
    return [np.concatenate(pair) for pair in zip(forwards, backwards, strict=True)]


def interact(weights, settings, u, v, left, right, name="interact"):
    """The grid of every channel: [C][L][R]."""
    kind = settings["interaction"]
    half = len(u[0]) // 2

    def cell(c, i, j):
        a, b = u[i], v[j]
        if kind == "cosine":
            return cosine(a, b)
        if kind == "cosine-per-direction":
            return cosine(a[:half], b[:half]) if c == 0 else cosine(a[half:], b[half:])
        if kind == "dot":
            return a @ b
        if kind == "indicator":
            return float(left[i] == right[j])
        if kind == "gaussian":
            return np.exp(-np.sum((a - b) ** 2))
        M, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        if kind == "bilinear":
            return a @ M @ b + bias[0]
        return relu(a @ M[c] @ b + weights[f"{name}.linear"][c] @ np.concatenate([a, b]) + bias[c])

    channels = {"cosine-per-direction": 2, "tensor": settings.get("channels", 1)}.get(kind, 1)
    return np.array([[[cell(c, i, j) for j in range(len(v))] for i in range(len(u))] for c in range(channels)])


def kmax(grid, k):
    """The k largest cells of every channel, largest first, padded with zeros."""
    rows = [sorted(channel.ravel(), reverse=True)[:k] for channel in grid]
    return np.concatenate([row + [0.0] * (k - len(row)) for row in rows])
