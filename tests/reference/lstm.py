"""Slow twins of the models built on an LSTM."""

import numpy as np

from reference import words as w


def lstm_rnn(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    return w.cosine(w.lstm(weights, "encode", u)[-1], w.lstm(weights, "encode", v)[-1])


def bi_lstm_rnn(weights, settings, left, right, letters):
    def ends(x):
        return np.concatenate([w.lstm(weights, "forwards", x)[-1], w.lstm(weights, "backwards", x[::-1])[-1]])

    u, v = w.words(weights, settings, left, right)
    return w.cosine(ends(u), ends(v))


def mv_lstm(weights, settings, left, right, letters):
    u, v = w.words(weights, settings, left, right)
    u, v = w.bilstm(weights, "encode", u), w.bilstm(weights, "encode", v)
    grid = w.interact(weights, settings, u, v, left, right)
    return w.mlp(weights, "score", w.kmax(grid, settings["k"]))
