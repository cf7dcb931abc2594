"""The tables of the papers: their rows, how each is trained, the data, and the results that the papers report."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pairlight.experiments.dataset_settings import MODEL_SETTINGS, SHARED_OPTIONS
from pairlight.experiments.records import Value, Values

LCS = "match-srnn-lcs"  # an experiment that is not a table: `pairlight.experiments.lcs`
# Experiments on single pairs: `pairlight.experiments.cases`.
CASE_TITLES = {
    "mv-lstm-cases": "Tables 1 and 4 of the MV-LSTM paper, and how often the best position is the first or last",
    "match-srnn-path": "Figure 5 of the Match-SRNN paper: the path through a pair of real sentences",
    "amv-lstm-crocodiles": "Table 4 of the aMV-LSTM paper: the answers to a question by four models",
}
_LCS_TITLE = "Section 5 and figure 4 of the Match-SRNN paper: longest common subsequences"


@dataclass(frozen=True)
class PaperRow:
    """One row of a table."""

    label: str
    model: str
    settings: Values = field(default_factory=dict)
    options: Values = field(default_factory=dict)
    results: Mapping[str, float] = field(default_factory=dict)  # of the paper, by metric
    last_epoch: bool = False  # whether the model at the end of training is evaluated, not that of the best epoch on dev


@dataclass(frozen=True)
class PaperDataset:
    """A dataset on which a table is reproduced."""

    dataset: str  # a name of `pairlight.experiments.sources.SOURCES`
    paper_dataset: str  # what the paper used
    metrics: tuple[str, ...]  # significance is tested on the first
    baseline: str  # label of the best baseline in the paper
    options: Mapping[str, Values] = field(default_factory=dict)  # by model: options that do better on dev here
    on_request: bool = False  # whether it is run only if it is named: the papers' own data, and slow sweeps

    def on(self, row: PaperRow) -> PaperRow:
        """The row as it is trained on this dataset."""
        labels: dict[str, Value] = {"loss": "bce"} if self.metrics == ("accuracy",) else {}
        return replace(row, options={**row.options, **labels, **self.options.get(row.model, {})})


@dataclass(frozen=True)
class PaperTable:
    """A table, or a figure, of a paper."""

    title: str
    rows: tuple[PaperRow, ...]
    datasets: tuple[PaperDataset, ...]
    every_epoch: bool = False  # whether test accuracy is measured after every epoch
    new_splits: bool = False  # whether the data are split anew with every seed
    one_form: bool = False  # whether its rows are not those of a paper, so that there is no published form


# Chosen on dev from a few values; docs/experiments.md describes how. These datasets are small: if word vectors are
# trained, a model memorizes the positives of the training lists and ends close to chance on dev.
_OPTIONS: dict[str, dict[str, Value]] = {
    "arc-i": {"freeze": True},
    "cntn": {"freeze": True, "lr": 0.03, "epsilon": 0.1},
    "lstm-rnn": {"freeze": True, "lr": 0.1, "margin": 0.2},
    "bi-lstm-rnn": {"freeze": True, "lr": 0.1, "margin": 0.2},
    "arc-ii": {"freeze": True},
    "multigran-cnn": {"freeze": True, "epsilon": 1e-10},
    "mv-lstm": {"freeze": True, "lr": 0.3},
    "match-pyramid": {"freeze": True},
    "match-srnn": {"freeze": True},
    "bi-match-srnn": {"freeze": True},
    "urae": {"epochs": 3},  # slow: it builds its trees again in every epoch
}


def _row(label: str, model: str, settings: Values, results: Mapping[str, float]) -> PaperRow:
    if model == "mv-lstm" and settings.get("interaction") in ("bilinear", "tensor"):
        settings = {**settings, "unit_states": True}
    return PaperRow(label, model, settings, _OPTIONS.get(model, {}), results)


def _qa(label: str, model: str, p_at_1: float | None = None, mrr: float | None = None, **settings: Value) -> PaperRow:
    results = {name: value for name, value in (("P@1", p_at_1), ("MRR", mrr)) if value is not None}
    return _row(label, model, settings, results)


def _completion(
    label: str, model: str, p_at_1: float | None = None, mrr: float | None = None, **settings: Value
) -> PaperRow:
    """Here the paper uses word vectors of Wikipedia; GloVe's are of Wikipedia and news."""
    row = _qa(label, model, p_at_1, mrr, **settings)
    return replace(row, options={"vectors": "glove-50d", **row.options})


def _qa_and_citation(label: str, model: str, p_at_1: float, mrr: float, accuracy: float, **settings: Value) -> PaperRow:
    results = {"P@1": p_at_1, "MRR": mrr, "accuracy": accuracy}
    return _row(label, model, settings, results)


def _wikiqa(label: str, model: str, ndcg_3: float, ndcg_5: float, mean_ap: float, **settings: Value) -> PaperRow:
    own = MODEL_SETTINGS["wikiqa"].get(model)
    return PaperRow(
        label,
        model,
        (dict(own.settings) if own else {}) | settings,
        SHARED_OPTIONS["wikiqa"] | (own.options if own else {}),
        {"MAP": mean_ap, "nDCG@3": ndcg_3, "nDCG@5": ndcg_5},
    )


def _quora(label: str, model: str, **settings: Value) -> PaperRow:
    """Trained as on WikiQA, for ten epochs, of which the best on dev is evaluated.

    The paper's figure 3 has bars without numbers, so there are no results.
    """
    row = _wikiqa(label, model, 0, 0, 0, **settings)
    return replace(row, options={**row.options, "epochs": 10, "patience": 0}, results={})


_YAHOO = "Yahoo! Answers, 60,564 questions"
_QA_METRICS = ("P@1", "MRR")
_SOTU: dict[str, Values] = {model: {"vectors": "glove-50d"} for model in ("mv-lstm", "match-srnn")}
_SQUAD = {"lstm-rnn": {"lr": 0.03}}  # with the learning rate of the other datasets, its first epoch is its best

_TABLE_3 = (
    _qa("Random Guess", "random", 0.200, 0.457),
    _qa("BM25", "bm25", 0.579, 0.726),
    _qa("ARC-I", "arc-i", 0.581, 0.756),
    _qa("CNTN", "cntn", 0.626, 0.781),
    _qa("LSTM-RNN", "lstm-rnn", 0.690, 0.822),
    _qa("RAE", "urae", 0.398, 0.652),
    _qa("DeepMatch", "deepmatch", 0.452, 0.679),
    _qa("ARC-II", "arc-ii", 0.591, 0.765),
    _qa("MultiGranCNN", "multigran-cnn", 0.725, 0.840),
    _qa("MV-LSTM-Cosine", "mv-lstm", 0.739, 0.852, interaction="cosine", k=5),
    _qa("MV-LSTM-Bilinear", "mv-lstm", 0.751, 0.860, interaction="bilinear", k=5),
    _qa("MV-LSTM-Tensor", "mv-lstm", 0.766, 0.869, interaction="tensor", k=5),
)


def _changed(row: PaperRow, changes: Mapping[str, tuple[Values, Values]]) -> tuple[PaperRow, ...]:
    """The row itself, and one row for each change of its settings and options, without results of the paper."""
    row = replace(row, results={})
    return row, *(
        replace(
            row,
            label=f"{row.label}, {name}",
            settings={**row.settings, **settings},
            options={**row.options, **options},
        )
        for name, (settings, options) in changes.items()
    )


_MV_LSTM_CHANGES: dict[str, tuple[Values, Values]] = {
    "word vectors trained": ({}, {"freeze": False}),
    "ε = 1e-10": ({}, {"epsilon": 1e-10}),
    "vectors not normalized": ({}, {"normalize": False}),
    "skip-gram vectors": ({}, {"vectors": "skip-gram"}),
}
_AMV_LSTM_CHANGES: dict[str, tuple[Values, Values]] = {
    "rescale=false": ({"rescale": False}, {}),
    "mlp=0": ({"mlp": 0}, {}),
    "rescale=false, mlp=0": ({"rescale": False, "mlp": 0}, {}),
    "word vectors trained": ({}, {"freeze": False}),
    "ε = 0.1": ({}, {"epsilon": 0.1}),
    "vectors not normalized": ({}, {"normalize": False}),
}

_WIKIQA_ROWS = (
    _wikiqa("CDSSM", "cdssm", 0.409214, 0.477269, 0.435007),
    _wikiqa("DSSM", "dssm", 0.531882, 0.609625, 0.560120),
    _wikiqa("ARC-II", "arc-ii", 0.540994, 0.609524, 0.560602),
    _wikiqa("ARC-I", "arc-i", 0.564213, 0.638075, 0.587890),
    _wikiqa("ANMM", "anmm", 0.609504, 0.612841, 0.645765),
    _wikiqa("MATCHPYRAMID", "match-pyramid", 0.644247, 0.690151, 0.643604),
    _wikiqa("MV-LSTM", "mv-lstm", 0.610065, 0.654855, 0.604582),
    _wikiqa("aMV-LSTM (Q)", "amv-lstm", 0.651922, 0.694755, 0.650664, gate="left"),
    _wikiqa("aMV-LSTM (A)", "amv-lstm", 0.598445, 0.641318, 0.602153, gate="right"),
    _wikiqa("aMV-LSTM (Q+A)", "amv-lstm", 0.556163, 0.614518, 0.556163, gate="both"),
)
_WIKIQA_METRICS = ("MAP", "nDCG@3", "nDCG@5")

PAPER_TABLES: dict[str, PaperTable] = {
    "mv-lstm-k": PaperTable(
        "Table 2 of the MV-LSTM paper: how many of the strongest interactions are kept",
        (
            _qa("LSTM-RNN", "lstm-rnn", 0.690, 0.822),
            _qa("Bi-LSTM-RNN", "bi-lstm-rnn", 0.702, 0.830),
            _qa("MV-LSTM (k=1)", "mv-lstm", 0.726, 0.843, interaction="cosine", k=1),
            _qa("MV-LSTM (k=3)", "mv-lstm", 0.736, 0.849, interaction="cosine", k=3),
            _qa("MV-LSTM (k=5)", "mv-lstm", 0.739, 0.852, interaction="cosine", k=5),
            _qa("MV-LSTM (k=10)", "mv-lstm", 0.740, 0.852, interaction="cosine", k=10),
        ),
        (
            PaperDataset("chitchat", _YAHOO, _QA_METRICS, "Bi-LSTM-RNN"),
            PaperDataset("squad-sentences", _YAHOO, _QA_METRICS, "Bi-LSTM-RNN", _SQUAD),
            PaperDataset("yahoo", _YAHOO, _QA_METRICS, "Bi-LSTM-RNN", on_request=True),
        ),
    ),
    "mv-lstm-k-all": PaperTable(
        "Table 2 of the MV-LSTM paper for bilinear and tensor, for which it has no figures",
        tuple(
            _qa(f"MV-LSTM-{interaction.capitalize()} (k={k})", "mv-lstm", interaction=interaction, k=k)
            for interaction in ("bilinear", "tensor")
            for k in (1, 3, 5, 10)
        ),
        (
            PaperDataset("sotu", _YAHOO, _QA_METRICS, "MV-LSTM-Bilinear (k=1)", _SOTU),
            PaperDataset("chitchat", _YAHOO, _QA_METRICS, "MV-LSTM-Bilinear (k=1)", on_request=True),
            PaperDataset("squad-sentences", _YAHOO, _QA_METRICS, "MV-LSTM-Bilinear (k=1)", on_request=True),
            PaperDataset("yahoo", _YAHOO, _QA_METRICS, "MV-LSTM-Bilinear (k=1)", on_request=True),
        ),
    ),
    "mv-lstm-qa": PaperTable(
        "Table 3 of the MV-LSTM paper: question answering",
        _TABLE_3,
        (
            PaperDataset("chitchat", _YAHOO, _QA_METRICS, "MultiGranCNN"),
            PaperDataset("squad-sentences", _YAHOO, _QA_METRICS, "MultiGranCNN", _SQUAD),
            PaperDataset("yahoo", _YAHOO, _QA_METRICS, "MultiGranCNN", on_request=True),
        ),
    ),
    "mv-lstm-sc": PaperTable(
        "Table 5 of the MV-LSTM paper: sentence completion",
        (
            _completion("Random Guess", "random", 0.200, 0.457),
            _completion("BM25", "bm25", 0.346, 0.568),
            _completion("ARC-I", "arc-i", 0.475),
            _completion("CNTN", "cntn", 0.525, 0.722),
            _completion("LSTM-RNN", "lstm-rnn", 0.608, 0.772),
            _completion("RAE", "urae", 0.258),
            _completion("DeepMatch", "deepmatch", 0.325),
            _completion("ARC-II", "arc-ii", 0.496),
            _completion("MultiGranCNN", "multigran-cnn", 0.595, 0.763),
            _completion("MV-LSTM-Cosine", "mv-lstm", 0.665, 0.808, interaction="cosine", k=5),
            _completion("MV-LSTM-Bilinear", "mv-lstm", 0.679, 0.817, interaction="bilinear", k=5),
            _completion("MV-LSTM-Tensor", "mv-lstm", 0.691, 0.824, interaction="tensor", k=5),
            # Not in the paper: another k, and the later model of the same authors.
            _completion("MV-LSTM-Cosine (k=1)", "mv-lstm", interaction="cosine", k=1),
            _completion("Match-SRNN", "match-srnn"),
        ),
        (
            PaperDataset("reuters", "Reuters RCV1", _QA_METRICS, "LSTM-RNN"),
            PaperDataset("sotu", "Reuters RCV1", _QA_METRICS, "LSTM-RNN"),
            PaperDataset("rcv1", "Reuters RCV1", _QA_METRICS, "LSTM-RNN", on_request=True),
        ),
    ),
    "match-srnn": PaperTable(
        "Table 1 of the Match-SRNN paper: question answering and paper citation",
        (
            _qa_and_citation("Random Guess", "random", 0.200, 0.457, 0.500),
            _qa_and_citation("BM25", "bm25", 0.579, 0.726, 0.832),
            _qa_and_citation("ARC-I", "arc-i", 0.581, 0.756, 0.845),
            _qa_and_citation("CNTN", "cntn", 0.626, 0.781, 0.862),
            _qa_and_citation("LSTM-RNN", "lstm-rnn", 0.690, 0.822, 0.878),
            _qa_and_citation("MultiGranCNN", "multigran-cnn", 0.725, 0.840, 0.885),
            _qa_and_citation("MV-LSTM", "mv-lstm", 0.766, 0.869, 0.890, interaction="tensor", k=5),
            _qa_and_citation("ARC-II", "arc-ii", 0.591, 0.765, 0.865),
            _qa_and_citation("MatchPyramid-Tensor", "match-pyramid", 0.764, 0.867, 0.894, interaction="tensor"),
            _qa_and_citation("Match-SRNN", "match-srnn", 0.785, 0.879, 0.898),
            _qa_and_citation("Bi-Match-SRNN", "bi-match-srnn", 0.790, 0.882, 0.901),
        ),
        (
            PaperDataset("chitchat", _YAHOO, _QA_METRICS, "MV-LSTM"),
            PaperDataset("squad-sentences", _YAHOO, _QA_METRICS, "MV-LSTM", _SQUAD),
            PaperDataset("yahoo", _YAHOO, _QA_METRICS, "MV-LSTM", on_request=True),
            PaperDataset(
                "citations", "a commercial academic site, 280,000 citations", ("accuracy",), "MatchPyramid-Tensor"
            ),
        ),
    ),
    "match-srnn-d": PaperTable(
        "The size of the tensor and of the states of Match-SRNN, which its paper chooses on dev without figures",
        tuple(_qa(f"Match-SRNN (d={d})", "match-srnn", hidden=d, channels=d) for d in (1, 2, 5, 10, 20)),
        (
            PaperDataset("sotu", _YAHOO, _QA_METRICS, "Match-SRNN (d=10)", _SOTU),
            PaperDataset("chitchat", _YAHOO, _QA_METRICS, "Match-SRNN (d=10)", on_request=True),
            PaperDataset("squad-sentences", _YAHOO, _QA_METRICS, "Match-SRNN (d=10)", on_request=True),
            PaperDataset("yahoo", _YAHOO, _QA_METRICS, "Match-SRNN (d=10)", on_request=True),
        ),
    ),
    "tutorial-qa": PaperTable(
        "The table of all systems on question answering in the tutorial on deep matching",
        (
            *(row for row in _TABLE_3 if row.model != "mv-lstm"),
            _qa("MV-LSTM", "mv-lstm", 0.766, 0.869, interaction="tensor", k=5),
            _qa("MatchPyramid", "match-pyramid", 0.764, 0.867, interaction="tensor"),
            _qa("Match-SRNN", "bi-match-srnn", 0.790, 0.882),  # the figures of Bi-Match-SRNN in its paper
        ),
        (
            PaperDataset("chitchat", _YAHOO, _QA_METRICS, "MV-LSTM"),
            PaperDataset("squad-sentences", _YAHOO, _QA_METRICS, "MV-LSTM", _SQUAD),
            PaperDataset("yahoo", _YAHOO, _QA_METRICS, "MV-LSTM", on_request=True),
        ),
    ),
    "amv-lstm-wikiqa": PaperTable(
        "Table 3 of the aMV-LSTM paper: WikiQA",
        (
            *_WIKIQA_ROWS,
            # Not in the paper: its word vectors are frozen here, and trained with --as-published.
            replace(_wikiqa("K-NRM", "knrm", 0, 0, 0), results={}),
        ),
        (
            PaperDataset("wikiqa", "WikiQA split at random 8:1:1", _WIKIQA_METRICS, "ANMM"),
            PaperDataset("wikiqa-random", "WikiQA split at random 8:1:1", _WIKIQA_METRICS, "ANMM"),
        ),
    ),
    "amv-lstm-splits": PaperTable(
        "Table 3 of the aMV-LSTM paper: WikiQA, split at random anew for every seed",
        _WIKIQA_ROWS,
        (PaperDataset("wikiqa-random", "WikiQA split at random 8:1:1", _WIKIQA_METRICS, "ANMM"),),
        new_splits=True,
    ),
    "amv-lstm-quora": PaperTable(
        "Figures 3 and 4 of the aMV-LSTM paper: Quora question pairs",
        (
            _quora("CDSSM", "cdssm"),
            _quora("DSSM", "dssm"),
            _quora("ARC-II", "arc-ii"),
            _quora("ARC-I", "arc-i"),
            _quora("ANMM", "anmm"),
            _quora("MATCHPYRAMID", "match-pyramid"),
            _quora("MV-LSTM", "mv-lstm"),
            _quora("aMV-LSTM (Q)", "amv-lstm", gate="left"),
            _quora("aMV-LSTM (A)", "amv-lstm", gate="right"),
            _quora("aMV-LSTM (Q+A)", "amv-lstm", gate="both"),
        ),
        (
            PaperDataset("quora", "all 404,351 Quora pairs", ("accuracy",), "MATCHPYRAMID"),
            PaperDataset("quora-full", "all 404,351 Quora pairs", ("accuracy",), "MATCHPYRAMID", on_request=True),
        ),
        every_epoch=True,
    ),
    "mv-lstm-departures": PaperTable(
        "What each departure from the MV-LSTM paper changes",
        (
            *_changed(_completion("MV-LSTM-Cosine", "mv-lstm", interaction="cosine", k=5), _MV_LSTM_CHANGES),
            *_changed(
                _completion("MV-LSTM-Tensor", "mv-lstm", interaction="tensor", k=5),
                _MV_LSTM_CHANGES | {"unit_states=false": ({"unit_states": False}, {})},
            ),
            *_changed(_completion("LSTM-RNN", "lstm-rnn"), {"margin 1": ({}, {"margin": 1.0})}),
        ),
        (PaperDataset("sotu", "Reuters RCV1", _QA_METRICS, "MV-LSTM-Cosine"),),
        one_form=True,
    ),
    "amv-lstm-departures": PaperTable(
        "What each departure from the aMV-LSTM paper changes",
        _changed(_wikiqa("aMV-LSTM (Q)", "amv-lstm", 0, 0, 0, gate="left"), _AMV_LSTM_CHANGES),
        (PaperDataset("wikiqa", "WikiQA split at random 8:1:1", _WIKIQA_METRICS, "aMV-LSTM (Q)"),),
        one_form=True,
    ),
}


def experiment_titles() -> dict[str, str]:
    """The titles of all experiments by name."""
    return {name: table.title for name, table in PAPER_TABLES.items()} | CASE_TITLES | {LCS: _LCS_TITLE}
