"""Settings and training options of the papers' tables on named datasets, chosen on dev, and the papers' results."""

from dataclasses import dataclass, field

from pairlight.experiments.records import Value


@dataclass(frozen=True)
class DatasetSettings:
    """How a model is set and trained on a dataset."""

    settings: dict[str, Value] = field(default_factory=dict)
    options: dict[str, Value] = field(default_factory=dict)


# Training options of all models on a dataset.
SHARED_OPTIONS: dict[str, dict[str, Value]] = {
    "wikiqa": {"vectors": "glove-50d", "freeze": True, "epsilon": 1e-10, "epochs": 10, "patience": 4},
}

# Settings and options of single models, which override the shared ones.
MODEL_SETTINGS: dict[str, dict[str, DatasetSettings]] = {
    "wikiqa": {
        "dssm": DatasetSettings({}, {"patience": 0}),
        "arc-i": DatasetSettings({"dropout": 0.2}, {"optimizer": "adam", "lr": 5e-4}),
        "cntn": DatasetSettings({}, {"freeze": False}),
        "mv-lstm": DatasetSettings({"interaction": "cosine-per-direction", "k": 100}),
        "amv-lstm": DatasetSettings({"rescale": True}),
        "match-pyramid": DatasetSettings({"dropout": 0.2}, {"freeze": False}),
        "anmm": DatasetSettings({}, {"loss": "listwise", "epochs": 20, "patience": 5}),
        "drmm": DatasetSettings({}, {"margin": 0.3, "epochs": 20, "patience": 6}),
        "knrm": DatasetSettings({}, {"optimizer": "adagrad", "lr": 1.0}),
        "conv-knrm": DatasetSettings({"dropout": 0.2}, {"lr": 0.003, "epochs": 12}),
        "esim": DatasetSettings({"hidden": 50, "dropout": 0.2}, {"lr": 0.003}),
    },
}

# Test MAP in table 3 of the aMV-LSTM paper, which splits WikiQA at random 8:1:1 and uses GloVe 300-d.
PAPER_RESULTS: dict[str, dict[str, float]] = {
    "wikiqa": {
        "cdssm": 0.435,
        "dssm": 0.560,
        "arc-ii": 0.561,
        "arc-i": 0.588,
        "anmm": 0.646,
        "match-pyramid": 0.644,
        "mv-lstm": 0.605,
        "amv-lstm": 0.651,
    },
}
