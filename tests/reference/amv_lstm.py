"""The reference of aMV-LSTM."""

from reference.mv_lstm import mv_lstm
from reference.registry import DIM, reference


@reference(
    "amv-lstm",
    *({"gate": gate, "k": 4, "hidden": 5, "mlp": 7, **DIM} for gate in ("none", "left", "right", "both")),
    {"rescale": True, "interaction": "tensor", "k": 3, "hidden": 5, "mlp": 7, **DIM},
    {"residual": True, "k": 3, "hidden": 5, "mlp": 7, **DIM},
)
def amv_lstm(weights, settings, left, right, ngrams):
    return mv_lstm(weights, settings, left, right, ngrams)  # with other defaults
