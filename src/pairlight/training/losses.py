"""Training losses: of ranking lists, and of labeled pairs."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

# A list loss takes scores [1 + J, B], the positive first, then J negatives; a label loss takes scores and labels [B].


def hinge(scores: Tensor, margin: float) -> Tensor:
    """mean of max(0, margin - s(positive) + s(negative))"""
    return F.relu(margin - scores[:1] + scores[1:]).mean()


def listwise(scores: Tensor, scale: float) -> Tensor:
    """-log of exp(g s(positive)) / sum of exp(g s) over the list: DSSM's loss with smoothing factor g = scale"""
    return F.cross_entropy(scale * scores.T, torch.zeros(scores.shape[1], dtype=torch.long, device=scores.device))


def bce(scores: Tensor, labels: Tensor) -> Tensor:
    """-y log sigmoid(s) - (1 - y) log(1 - sigmoid(s))"""
    return F.binary_cross_entropy_with_logits(scores, labels)


def squared(scores: Tensor, labels: Tensor) -> Tensor:
    """(y - s)²"""
    return F.mse_loss(scores, labels)


def default_label_loss(labels: NDArray[np.float32]) -> str:
    """bce, once labels are scaled to at most 1, but squared where a label is negative."""
    return "squared" if np.any(labels < 0) else "bce"


LABEL_LOSS_FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"bce": bce, "squared": squared}
