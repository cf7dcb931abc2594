"""The reference of CNTN."""

import numpy as np

from reference.common import embed_gated, linear
from reference.convolutions import dynamic_cnn
from reference.registry import DIM, reference


@reference(
    "cntn",
    {"maps": 4, "top": 2, "code": 5, "channels": 3, **DIM},
    {"maps": 4, "top": 1, "code": 5, "width": 2, "layers": 3, "gate": "left", **DIM},
    {"preset": "mv-lstm", "maps": 4, "channels": 3, **DIM},
)
def cntn(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    T, U = weights["score.weight"], weights["score.linear"]
    if settings["preset"] == "mv-lstm":
        a, b = (dynamic_cnn(weights, f"encode.{i}", settings, x, least=4, top=1) for i, x in enumerate((u, v)))
        slices = [a @ (T[c].T @ T[c]) @ b + U[c] @ a + U[c] @ b for c in range(len(T))]
        return float(linear(weights, "score.out", np.tanh(slices))[0])
    top = settings["top"]
    a, b = (
        linear(weights, f"encode.{i}.1", dynamic_cnn(weights, f"encode.{i}.0", settings, x, least=top, top=top))
        for i, x in enumerate((u, v))
    )
    slices = [a @ T[c] @ b + U[c] @ np.concatenate([a, b]) + weights["score.bias"][c] for c in range(len(T))]
    return float(weights["score.out.weight"][0] @ np.tanh(slices))
