"""What serves each model on a named set: settings and options chosen on its dev part, beside the papers' figures."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """How one model is trained on one set."""

    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


COMMON: dict[str, dict[str, Any]] = {
    "wikiqa": {"vectors": "glove-50d", "freeze": True, "epsilon": 1e-10, "epochs": 10, "patience": 4},
}

RECIPES: dict[str, dict[str, Recipe]] = {
    "wikiqa": {
        "dssm": Recipe({}, {"patience": 0}),
        "arc-i": Recipe({"dropout": 0.2}, {"optimizer": "adam", "lr": 5e-4}),
        "cntn": Recipe({}, {"freeze": False}),
        "mv-lstm": Recipe({"interaction": "cosine-per-direction", "k": 100}),
        "amv-lstm": Recipe({"rescale": True}),
        "match-pyramid": Recipe({"dropout": 0.2}, {"freeze": False}),
        "anmm": Recipe({}, {"loss": "listwise", "epochs": 20, "patience": 5}),
        "drmm": Recipe({}, {"margin": 0.3, "epochs": 20, "patience": 6}),
        "knrm": Recipe({}, {"optimizer": "adagrad", "lr": 1.0}),
        "conv-knrm": Recipe({"dropout": 0.2}, {"lr": 0.003, "epochs": 12}),
        "esim": Recipe({"hidden": 50, "dropout": 0.2}, {"lr": 0.003}),
    },
}

# Test MAP in table 3 of the aMV-LSTM paper, which splits WikiQA at random 8:1:1 and takes GloVe 300-d.
PAPERS: dict[str, dict[str, float]] = {
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


def recipe(data: str, model: str) -> Recipe:
    """The recipe of a model on a named set; on data of the user's own, the model's defaults."""
    own = RECIPES.get(data, {}).get(model, Recipe())
    return Recipe(own.settings, COMMON.get(data, {}) | own.options)
