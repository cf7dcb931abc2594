"""The reference of Bi-LSTM-RNN."""

import numpy as np

from reference.common import cosine, embed_gated, lstm
from reference.registry import DIM, reference


@reference("bi-lstm-rnn", {"hidden": 5, **DIM})
def bi_lstm_rnn(weights, settings, left, right, ngrams):
    def last_states(x):
        return np.concatenate([lstm(weights, "forwards", x)[-1], lstm(weights, "backwards", x[::-1])[-1]])

    u, v = embed_gated(weights, settings, left, right)
    return cosine(last_states(u), last_states(v))
