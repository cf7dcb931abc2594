"""Slow NumPy twins, one a model: (weights, settings, left ids, right ids, letters) -> score."""

from reference import convolution, esim, letters, lexical, lstm, picture, spatial, topics, trees, value

REFERENCES = {
    "random": lexical.random,
    "bm25": lexical.bm25,
    "dssm": letters.dssm,
    "cdssm": letters.cdssm,
    "arc-i": convolution.arc_i,
    "cntn": convolution.cntn,
    "multigran-cnn": picture.multigran_cnn,
    "lstm-rnn": lstm.lstm_rnn,
    "bi-lstm-rnn": lstm.bi_lstm_rnn,
    "mv-lstm": lstm.mv_lstm,
    "amv-lstm": lstm.mv_lstm,
    "urae": trees.urae,
    "arc-ii": convolution.arc_ii,
    "match-srnn": spatial.match_srnn,
    "bi-match-srnn": spatial.bi_match_srnn,
    "deepmatch": topics.deepmatch,
    "duet": letters.duet,
    "match-pyramid": picture.match_pyramid,
    "pacrr": picture.pacrr,
    "anmm": value.anmm,
    "drmm": value.drmm,
    "knrm": value.knrm,
    "conv-knrm": value.conv_knrm,
    "esim": esim.esim,
}
