"""Paper citation: does the one paper cite the other? Every citation stands against random pairs that are none."""

from dataclasses import replace

import numpy as np

from pairlight.data.negatives import Progress, mine
from pairlight.data.pairs import Pairs
from pairlight.data.splits import split

PROTOCOL = (
    "Paper citation as in the Match-SRNN paper (Wan et al., IJCAI 2016, after Pang et al., AAAI 2016). For each "
    "citation the citing paper also meets papers drawn at random from all cited ones: never one that it cites, itself, "
    "or the same one twice. Every pair stands alone, labelled 1 or 0. The pairs fall into train, dev and test 8:1:1, "
    "citing paper by citing paper."
)


def citation(
    pairs: Pairs,
    *,
    negatives_per_positive: int = 2,
    seed: int = 0,
    limit: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Pairs]:
    """The task made of citing–cited pairs (all of them, or those of a label above 0), or of `limit` drawn by seed."""
    if pairs.label is None:
        pairs = replace(pairs, label=np.ones(len(pairs), np.float32))
    drawn = mine(pairs, "random", wrong, seed=seed, progress=progress, limit=limit)
    if drawn.left_id is None:
        drawn = replace(drawn, left_id=[str(number) for number in drawn.group])
    parts = split(drawn, seed=seed)
    return {name: _apart(part) for name, part in zip(("train", "dev", "test"), parts, strict=True)}


def _apart(pairs: Pairs) -> Pairs:
    """The same pairs, each a list of its own: what is asked is a yes or no, not an order."""
    names = [f"{name}:{row}" for row, name in enumerate(pairs.left_id or [])]
    return replace(pairs, group=np.arange(len(pairs), dtype=np.int32), left_id=names)
