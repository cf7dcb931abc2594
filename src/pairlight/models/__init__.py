"""The table of models, by name."""

from typing import Any

from pairlight.core.errors import unknown_name
from pairlight.models.amv_lstm import AMVLSTM
from pairlight.models.anmm import ANMM
from pairlight.models.arc_i import ARCI
from pairlight.models.arc_ii import ARCII
from pairlight.models.base import PairModel
from pairlight.models.bi_lstm_rnn import BiLSTMRNN
from pairlight.models.bi_match_srnn import BiMatchSRNN
from pairlight.models.bm25 import BM25
from pairlight.models.cdssm import CDSSM
from pairlight.models.cntn import CNTN
from pairlight.models.conv_knrm import ConvKNRM
from pairlight.models.deepmatch import DeepMatch
from pairlight.models.drmm import DRMM
from pairlight.models.dssm import DSSM
from pairlight.models.duet import Duet
from pairlight.models.esim import ESIM
from pairlight.models.knrm import KNRM
from pairlight.models.lstm_rnn import LSTMRNN
from pairlight.models.match_pyramid import MatchPyramid
from pairlight.models.match_srnn import MatchSRNN
from pairlight.models.multigran_cnn import MultiGranCNN
from pairlight.models.mv_lstm import MVLSTM
from pairlight.models.pacrr import PACRR
from pairlight.models.random import Random
from pairlight.models.settings import check_settings
from pairlight.models.urae import URAE

MODELS: dict[str, type[PairModel]] = {
    "random": Random,
    "bm25": BM25,
    "dssm": DSSM,
    "cdssm": CDSSM,
    "arc-i": ARCI,
    "cntn": CNTN,
    "multigran-cnn": MultiGranCNN,
    "lstm-rnn": LSTMRNN,
    "bi-lstm-rnn": BiLSTMRNN,
    "mv-lstm": MVLSTM,
    "amv-lstm": AMVLSTM,
    "urae": URAE,
    "arc-ii": ARCII,
    "match-srnn": MatchSRNN,
    "bi-match-srnn": BiMatchSRNN,
    "deepmatch": DeepMatch,
    "duet": Duet,
    "match-pyramid": MatchPyramid,
    "pacrr": PACRR,
    "anmm": ANMM,
    "drmm": DRMM,
    "knrm": KNRM,
    "conv-knrm": ConvKNRM,
    "esim": ESIM,
}


def model_class(name: str) -> type[PairModel]:
    """The class of a model in MODELS."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name]


def build(name: str, vocab: int, **settings: Any) -> PairModel:
    """The model of this name with these settings, untrained."""
    model = model_class(name)
    return model(vocab, **check_settings(name, model, settings))
