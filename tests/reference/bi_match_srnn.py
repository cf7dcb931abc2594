"""The reference of Bi-Match-SRNN."""

import numpy as np

from reference.common import embed_gated, interact, linear
from reference.match_srnn import SETTINGS, scan
from reference.registry import reference


@reference("bi-match-srnn", *SETTINGS)
def bi_match_srnn(weights, settings, left, right, ngrams):
    u, v = embed_gated(weights, settings, left, right)
    grid = interact(weights, settings, u, v, left, right)
    forwards = scan(weights, "aggregate.forwards", settings, grid)
    backwards = scan(weights, "aggregate.backwards", settings, grid[:, ::-1, ::-1])
    return float(linear(weights, "score", np.concatenate([forwards, backwards]))[0])
