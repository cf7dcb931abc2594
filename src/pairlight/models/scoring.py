"""The scores of many pairs: batches of like length, and the same number for a pair whatever batch it is in."""

import numpy as np
import torch
from numpy.typing import NDArray

from pairlight.data.batches import by_length, gather
from pairlight.models.base import PairModel
from pairlight.parts import Tokens
from pairlight.text.tokenizer import Encoded


def tokens(encoded: Encoded, texts: NDArray[np.integer], device: torch.device) -> Tokens:
    """These texts as a model reads them."""
    rows = gather(encoded, texts)
    letters = None if encoded.spelling is None else torch.from_numpy(encoded.spelling).to(device)
    joins = None if rows.joins is None else torch.from_numpy(rows.joins).to(device)
    return Tokens(torch.from_numpy(rows.ids).to(device), torch.from_numpy(rows.mask).to(device), letters, joins)


@torch.no_grad()
def score_pairs(
    model: PairModel,
    encoded: Encoded,
    left: NDArray[np.integer],
    right: NDArray[np.integer],
    batch: int = 256,
) -> NDArray[np.float32]:
    """One score for each pair of text numbers."""
    model.eval()
    device = next((p.device for p in [*model.parameters(), *model.buffers()]), torch.device("cpu"))
    scores = np.empty(len(left), np.float32)
    width = encoded.lengths[left] * encoded.lengths[right]
    for some in by_length(width, batch):
        scores[some] = model(
            tokens(encoded, left[some], device), tokens(encoded, right[some], device)
        ).float().cpu().numpy()  # fmt: skip
    return scores
