"""The papers' own form of every row, where our rows are trained in another way."""

from collections.abc import Mapping
from dataclasses import replace

from pairlight.experiments.papers import LCS, PAPER_TABLES, PaperRow, PaperTable
from pairlight.experiments.records import Value

AS_PUBLISHED = "as published"

# What every model of the aMV-LSTM paper has in common there.
_SAME_SETUP: Mapping[str, Value] = {
    "loss": "hinge",
    "optimizer": "adagrad",
    "lr": 0.03,
    "epsilon": 0.1,
    "vectors": "glove-50d",
    "freeze": True,
    "patience": 0,
}
_WIKIQA_EPOCHS, _QUORA_EPOCHS = 400, 500
_FIXED_VECTORS = ("urae",)  # models whose own paper does not train word vectors
_LEARNING_RATES = {"mv-lstm-sc": 0.3}  # of MV-LSTM in its paper; 0.03 on question answering

# What `reproduce` prints under a table, by the name of the experiment. The second text is that of `--as-published`.
_OUR_FORM = (
    "Ours: word vectors are not trained, learning rates are those that were best on dev here, LSTM-RNN and Bi-LSTM-RNN "
    "have the margin 0.2, and the bilinear and tensor forms of MV-LSTM compare states of length 1 (unit_states=true). "
    "The paper trains word vectors with the model, has the margin 1, and compares states as they are."
)
_MV_LSTM = (
    _OUR_FORM,
    "As published: word vectors are trained with the model (except in RAE), and MV-LSTM has the paper's learning rate, "
    "AdaGrad's ε = 0.1 of the authors' scripts, and weights within ± 0.1. The paper does not give the number of epochs "
    "or how the epoch is chosen: here at most 10, the best on dev.",
)
_MATCH_SRNN = (
    _OUR_FORM,
    "As published: word vectors are trained with the model. The paper gives no learning rates and no number of epochs: "
    "they are ours, and the epoch is the best on dev.",
)
_AMV_LSTM = (
    "Ours: attention weights are multiplied by the length of the text (rescale=true), MV-LSTM and aMV-LSTM have an MLP "
    "with a hidden layer, losses, optimizers and the training of word vectors differ between models, and the epoch is "
    "the best on dev of at most 20. The paper has none of these. K-NRM, where it is run, is not in the paper; its word "
    "vectors are not trained either, which leaves 12 trained numbers.",
    "As published: attention weights are not rescaled, the score of MV-LSTM and aMV-LSTM is one linear layer (mlp=0), "
    "all models have the same loss (hinge for ranking lists, cross-entropy for labels), optimizer and number of epochs "
    "(400 on WikiQA, 500 on Quora), and the model at the end of training is measured. The paper does not name its "
    "optimizer, learning rate or batch size: here AdaGrad with the learning rate 0.03 and batches of 128. It does not "
    "say whether GloVe vectors are trained: here they are not, except in K-NRM. They have 50 dimensions unless other "
    "vectors are given, 300 in the paper.",
)
_LCS = (
    "Ours: Adam, where the paper has AdaGrad; relu for the new state, for which the paper names no activation; the "
    "weights of the new state and of the score start non-negative and that of a match in z_d starts at 2, where the "
    "paper draws all weights from one uniform distribution; 1,000 further pairs are dev.",
)
_CHANGES = ("Every row differs from the first row of its model in what its name says.",)
FORMS: Mapping[str, tuple[str, ...]] = {
    "mv-lstm-k": _MV_LSTM,
    "mv-lstm-k-all": _MV_LSTM,
    "mv-lstm-qa": _MV_LSTM,
    "mv-lstm-sc": _MV_LSTM,
    "match-srnn": _MATCH_SRNN,
    "match-srnn-d": _MATCH_SRNN,
    "tutorial-qa": _MATCH_SRNN,
    "amv-lstm-wikiqa": _AMV_LSTM,
    "amv-lstm-splits": _AMV_LSTM,
    "amv-lstm-quora": _AMV_LSTM,
    "mv-lstm-departures": _CHANGES,
    "amv-lstm-departures": _CHANGES,
    "mv-lstm-cases": _MV_LSTM[:1],
    "match-srnn-path": _MATCH_SRNN[:1],
    "amv-lstm-crocodiles": _AMV_LSTM[:1],
    LCS: _LCS,
}


def form_notes(name: str) -> tuple[str, ...]:
    """What the forms of an experiment are: that of our rows, or both if its name ends in `-as-published`."""
    experiment = name.removesuffix(f"-{file_suffix()}")
    notes = FORMS.get(experiment, ())
    return notes if experiment != name else notes[:1]


def file_suffix() -> str:
    return AS_PUBLISHED.replace(" ", "-")


def with_published_rows(name: str) -> PaperTable:
    """The table of an experiment with two rows for each of the paper's: as published, and ours."""
    table = PAPER_TABLES[name]
    rows = tuple(row for ours in table.rows for row in (published_row(name, ours), replace(ours, label=_ours(ours))))
    datasets = tuple(replace(each, baseline=published_label(each.baseline)) for each in table.datasets)
    return replace(table, rows=rows, datasets=datasets)


def published_label(label: str) -> str:
    return f"{label}, {AS_PUBLISHED}"


def _ours(row: PaperRow) -> str:
    return f"{row.label}, ours"


def published_row(name: str, row: PaperRow) -> PaperRow:
    """The row as its paper trains it."""
    label = published_label(row.label)
    if not row.options:  # nothing is trained, or the model has its own defaults
        return replace(row, label=label)
    if name.startswith("amv-lstm"):
        return replace(_same_setup(name, row), label=label)
    settings = {name: value for name, value in row.settings.items() if name != "unit_states"}
    options = {**row.options, "freeze": row.model in _FIXED_VECTORS}
    options.pop("margin", None)
    if row.model == "mv-lstm":
        options |= {"lr": _LEARNING_RATES.get(name, 0.03), "epsilon": 0.1}
    return replace(row, label=label, settings=settings, options=options)


def _same_setup(name: str, row: PaperRow) -> PaperRow:
    epochs = _QUORA_EPOCHS if name == "amv-lstm-quora" else _WIKIQA_EPOCHS
    settings, options = dict(row.settings), {**_SAME_SETUP, "epochs": epochs}
    settings.pop("dropout", None)
    if row.model in ("mv-lstm", "amv-lstm"):
        settings["mlp"] = 0
    if row.model == "amv-lstm":
        settings["rescale"] = False
    if row.model == "knrm":  # not in the paper: trained as its own paper does
        options |= {"optimizer": "adam", "lr": 0.001, "freeze": False}
    return replace(row, settings=settings, options=options, last_epoch=True)
