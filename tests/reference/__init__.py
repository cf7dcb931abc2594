"""Slow NumPy twins, one a model: (weights, settings, left ids, right ids, letters) -> score."""

from reference import lexical, lstm

TWINS = {
    "random": lexical.random,
    "bm25": lexical.bm25,
    "lstm-rnn": lstm.lstm_rnn,
    "bi-lstm-rnn": lstm.bi_lstm_rnn,
    "mv-lstm": lstm.mv_lstm,
    "amv-lstm": lstm.mv_lstm,
}
