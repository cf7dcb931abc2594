"""The reference of ARC-I."""

import numpy as np

from reference.common import embed_gated, mlp, relu
from reference.convolutions import ceil_half, dynamic_cnn, fixed_length, narrow_conv
from reference.registry import DIM, reference


@reference(
    "arc-i",
    {"maps": 4, "mlp": 5, "length": 20, **DIM},
    {"maps": 4, "mlp": 5, "length": 7, "gate": "both", **DIM},
    {"maps": 4, "mlp": 5, "length": 11, "width": 2, "layers": 3, **DIM},
    {"preset": "mv-lstm", "maps": 4, "mlp": 5, **DIM},
)
def arc_i(weights, settings, left, right, ngrams):
    width, layers = settings["width"], settings["layers"]

    def encode(x, number):
        if settings["preset"] == "mv-lstm":
            return dynamic_cnn(weights, f"encode.{number}", settings, x, least=4, top=1)
        x, mask = fixed_length(x, settings["length"])
        for layer in range(layers):
            y, gate = narrow_conv(weights, f"encode.0.blocks.{layer}.conv.filters", x, mask, width)
            y = [relu(value) if counts else np.zeros_like(value) for value, counts in zip(y, gate, strict=True)]
            x = [np.max(y[2 * t : 2 * t + 2], axis=0) for t in range(ceil_half(len(y)))]
            mask = [any(gate[2 * t : 2 * t + 2]) for t in range(len(x))]
        return np.concatenate(x)

    u, v = embed_gated(weights, settings, left, right)
    return mlp(weights, "score", np.concatenate([encode(u, 0), encode(v, 1)]))
