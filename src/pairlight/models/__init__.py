"""The table of models: one line a model, one word to switch."""

import difflib
from typing import Any

from pairlight.errors import InputError
from pairlight.models.amv_lstm import AMVLSTM
from pairlight.models.anmm import ANMM
from pairlight.models.arc_i import ARCI
from pairlight.models.arc_ii import ARCII
from pairlight.models.base import PairModel, defaults
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


def model_named(name: str) -> type[PairModel]:
    """The class of a model in MODELS."""
    if name not in MODELS:
        close = difflib.get_close_matches(name, MODELS, n=1, cutoff=0.5)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise InputError(f"No model named '{name}'.{hint} The models are: {', '.join(MODELS)}.")
    return MODELS[name]


def build(name: str, vocab: int, **settings: Any) -> PairModel:
    """The model of that name with these settings, its weights not yet trained."""
    model = model_named(name)
    return model(vocab, **checked(name, settings))


def checked(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings as the model takes them: known names only, text turned into numbers, sizes at least 1."""
    known = defaults(model_named(name))
    return {key: _checked(name, key, value, known) for key, value in settings.items()}


def _checked(name: str, key: str, value: Any, known: dict[str, Any]) -> Any:
    if key not in known:
        listed = ", ".join(f"{k}={v}" for k, v in known.items()) or "none"
        raise InputError(f"{name} has no setting '{key}'. Its settings, with defaults: {listed}.")
    kind = type(known[key])
    taken = _as(kind, value)
    if taken is None:
        raise InputError(f"{name}: {key}={value!r} is no {_KINDS[kind]}; the default is {known[key]}.")
    if kind is int and taken < (0 if key == "seed" else 1):
        raise InputError(f"{name}: {key}={taken} is too small: it must be at least 1.")
    if kind is int and taken >= 2**31:
        raise InputError(f"{name}: {key}={taken} is too large: it must be below 2147483648.")
    if kind is float and not 0 <= taken < (1 if key == "dropout" else float("inf")):
        rule = "it must be at least 0 and below 1" if key == "dropout" else "it must not be negative"
        raise InputError(f"{name}: {key}={taken} is out of range: {rule}.")
    return taken


_KINDS = {int: "whole number", float: "number", bool: "true or false", str: "word"}


def _as(kind: type, value: Any) -> Any:
    """The value as this kind, or None where it is not one."""
    if kind is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(str(value).lower())
    if kind is str:
        return value if isinstance(value, str) else None
    if isinstance(value, bool):
        return None
    try:
        taken = kind(value)
    except (TypeError, ValueError):
        return None
    return taken if not isinstance(value, float) or taken == value else None
