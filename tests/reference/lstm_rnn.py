"""The reference of LSTM-RNN."""

from reference.common import cosine, embed_gated, lstm
from reference.registry import DIM, reference


@reference("lstm-rnn", {"hidden": 5, **DIM})
def lstm_rnn(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    return cosine(lstm(weights, "encode", u)[-1], lstm(weights, "encode", v)[-1])
