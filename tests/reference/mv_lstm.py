"""The reference of MV-LSTM."""

import numpy as np

from reference.common import bilstm, embed_gated, interact, kmax, mlp
from reference.registry import DIM, reference


@reference(
    "mv-lstm",
    *(
        {"interaction": kind, "channels": 3, "k": 4, "hidden": 5, "mlp": 7, **DIM}
        for kind in ("cosine", "cosine-per-direction", "bilinear", "tensor")
    ),
    {"interaction": "tensor", "channels": 2, "k": 3, "hidden": 5, "mlp": 0, **DIM},
    {"gate": "both", "k": 3, "hidden": 5, "mlp": 7, **DIM},
    {"gate": "left", "rescale": True, "k": 3, "hidden": 5, "mlp": 7, **DIM},
    {"residual": True, "gate": "right", "k": 4, "hidden": 5, "mlp": 7, **DIM},
    {"unit_states": True, "interaction": "bilinear", "k": 3, "hidden": 5, "mlp": 7, **DIM},
)
def mv_lstm(weights, settings, left, right, ngrams):
    u, v = (encode(weights, settings, side) for side in embed_gated(weights, settings, left, right))
    grid = interact(weights, settings, u, v, left, right)
    return mlp(weights, "score", kmax(grid, settings["k"]))


def encode(weights, settings, vectors):
    states = bilstm(weights, "encode", vectors)
    if settings["residual"]:
        states = [x + weights["encode.project.weight"] @ p for x, p in zip(vectors, states, strict=True)]
    return [p / np.linalg.norm(p) for p in states] if settings.get("unit_states") else states
