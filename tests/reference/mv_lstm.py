"""The reference of MV-LSTM."""

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
)
def mv_lstm(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    u, v = bilstm(weights, "encode", u), bilstm(weights, "encode", v)
    grid = interact(weights, settings, u, v, left, right)
    return mlp(weights, "score", kmax(grid, settings["k"]))
