"""The paper citation protocol: decide whether one paper cites another."""

from dataclasses import replace

import numpy as np

from pairlight.core.progress import Progress
from pairlight.data.negatives import mine_negatives
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits, train_dev_test

PROTOCOL = (
    "Paper citation after the Match-SRNN paper (Wan et al., IJCAI 2016, after Pang et al., AAAI 2016). For each "
    "citation, the citing paper is also paired with negatives: papers drawn at random from all cited papers, excluding "
    "papers it cites, itself, and papers already drawn for it. Pairs are independent of each other and labeled 1 or 0. "
    "They are split 8:1:1 into train, dev and test by citing paper. The paper gives the random negatives, two for each "
    "citation; the rest is ours."
)


def citation(
    pairs: Pairs,
    *,
    negatives_per_positive: int = 2,
    seed: int = 0,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Splits:
    """Make the dataset from pairs of citing and cited papers.

    Pairs with a label of 0 or less are not used as citations. `limit` draws that many citations at random.
    """
    if pairs.label is None:
        pairs = replace(pairs, label=np.ones(len(pairs), np.float32))
    mined = mine_negatives(pairs, "random", negatives_per_positive, seed=seed, progress=progress, limit=limit)
    if mined.left_id is None:
        mined = replace(mined, left_id=[str(number) for number in mined.group])
    return {name: _independent(part) for name, part in train_dev_test(mined, seed).items()}


def _independent(pairs: Pairs) -> Pairs:
    """Put each pair into a list of its own: the pairs are classified, not ranked."""
    ids = [f"{name}:{row}" for row, name in enumerate(pairs.left_id or [])]
    return replace(pairs, group=np.arange(len(pairs), dtype=np.int32), left_id=ids)
