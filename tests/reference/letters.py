"""Slow twins of the models that read what words are spelt with."""

import numpy as np

from reference import words as w


def counts(weights, name, text, letters):
    """How often each piece stands in each word of a text."""
    vocab = len(weights[name])
    return [np.bincount([piece for piece in letters[word] if piece], minlength=vocab) for word in text]


def dssm(weights, settings, left, right, letters):
    def code(text):
        x = sum(counts(weights, "embed.weight", text, letters))
        h = np.tanh(weights["embed.weight"].T @ x + weights["bias"])
        g = np.tanh(w.linear(weights, "layers.1", h))
        return np.tanh(w.linear(weights, "layers.3", g))

    return w.cosine(code(left), code(right))


def convolved(table, f, t):
    """The convolution's sum at the window of words t, t+1, t+2; its three thirds are the columns of the table."""
    hidden = table.shape[1] // 3
    return sum(table[:, i * hidden : (i + 1) * hidden].T @ f[t + i] for i in range(3))


def cdssm(weights, settings, left, right, letters):
    def code(text):
        table = weights["embed.weight"]
        nothing = np.zeros(len(table))
        f = [nothing, *counts(weights, "embed.weight", text, letters), nothing]
        h = [np.tanh(convolved(table, f, t)) for t in range(len(text))]
        return np.tanh(weights["out.weight"] @ np.max(h, axis=0))

    return w.cosine(code(left), code(right))


def duet(weights, settings, left, right, letters):
    n, m, pool = settings["left_length"], settings["right_length"], settings["pool"]
    left, right = left[:n], right[:m]

    def head(name, z):
        for layer in (0, 2, 5):
            z = np.tanh(w.linear(weights, f"{name}.{layer}", z))
        return float(z[0])

    def windows(side, text, length):
        table = weights[f"embed_{side}.weight"]
        f = counts(weights, f"embed_{side}.weight", text, letters)
        f += [np.zeros(len(table))] * (length - len(text))
        return [np.tanh(convolved(table, f, t) + weights[f"{side}_bias"]) for t in range(length - 2)]

    X = np.zeros((n, m))
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            X[i, j] = a == b
    local = head("local_head", np.concatenate([np.tanh(w.linear(weights, "rows", row)) for row in X]))

    q = np.tanh(w.linear(weights, "left_out", np.max(windows("left", left, n), axis=0)))
    h = windows("right", right, m)
    d = [np.tanh(w.linear(weights, "right_out", np.max(h[t : t + pool], axis=0))) for t in range(m - 2 - pool + 1)]
    return local + head("distributed_head", np.concatenate([q * each for each in d]))
