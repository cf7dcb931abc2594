"""The table of models by name. A model's module is imported when the model is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError, unknown_name
from pairlight.core.memory import is_out_of_memory

if TYPE_CHECKING:
    from pairlight.models.base import PairModel

MODELS: dict[str, str] = {
    "random": "pairlight.models.random:Random",
    "bm25": "pairlight.models.bm25:BM25",
    "dssm": "pairlight.models.dssm:DSSM",
    "cdssm": "pairlight.models.cdssm:CDSSM",
    "arc-i": "pairlight.models.arc_i:ARCI",
    "cntn": "pairlight.models.cntn:CNTN",
    "multigran-cnn": "pairlight.models.multigran_cnn:MultiGranCNN",
    "lstm-rnn": "pairlight.models.lstm_rnn:LSTMRNN",
    "bi-lstm-rnn": "pairlight.models.bi_lstm_rnn:BiLSTMRNN",
    "mv-lstm": "pairlight.models.mv_lstm:MVLSTM",
    "amv-lstm": "pairlight.models.amv_lstm:AMVLSTM",
    "urae": "pairlight.models.urae:URAE",
    "arc-ii": "pairlight.models.arc_ii:ARCII",
    "match-srnn": "pairlight.models.match_srnn:MatchSRNN",
    "bi-match-srnn": "pairlight.models.bi_match_srnn:BiMatchSRNN",
    "deepmatch": "pairlight.models.deepmatch:DeepMatch",
    "duet": "pairlight.models.duet:Duet",
    "match-pyramid": "pairlight.models.match_pyramid:MatchPyramid",
    "pacrr": "pairlight.models.pacrr:PACRR",
    "anmm": "pairlight.models.anmm:ANMM",
    "drmm": "pairlight.models.drmm:DRMM",
    "drmm-tks": "pairlight.models.drmm_tks:DRMMTKS",
    "knrm": "pairlight.models.knrm:KNRM",
    "conv-knrm": "pairlight.models.conv_knrm:ConvKNRM",
    "esim": "pairlight.models.esim:ESIM",
    "late-interaction": "pairlight.models.late_interaction:LateInteraction",
}

# The model that is trained if none is named.
DEFAULT_MODEL = "late-interaction"


def model_class(name: str) -> "type[PairModel]":
    """The class of a model in MODELS."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    module, _, attribute = MODELS[name].partition(":")
    found: type[PairModel] = getattr(import_module(module), attribute)
    return found


def build(name: str, vocab: int, /, **settings: Any) -> "PairModel":
    """An untrained model with these settings: the form of its paper, unless `evidence` is set."""
    from pairlight.models.settings import check_settings

    model = model_class(name)
    checked = check_settings(name, model, settings)
    evidence = checked.pop("evidence", False)
    try:
        own = model(vocab, **checked)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(
            f"There is not enough memory for this {name}: use smaller settings, or fewer words.", option="settings"
        ) from None
    if evidence:
        from pairlight.models.with_evidence import WithEvidence

        return WithEvidence.of(own)
    if model.takes_evidence:
        own.settings["evidence"] = False
    return own
