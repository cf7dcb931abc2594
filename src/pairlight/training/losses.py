"""What training makes small: how far a wrong text comes near the right one, or a score is from its label."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

# A list loss takes scores [1 + J, B], the better text first, then J worse ones; a label loss scores and labels [B].


def hinge(scores: Tensor, margin: float) -> Tensor:
    """mean of max(0, margin - s(better) + s(worse))"""
    return F.relu(margin - scores[:1] + scores[1:]).mean()


def softmax(scores: Tensor, smoothing: float) -> Tensor:
    """-log of exp(g s(better)) / sum of exp(g s) over the list: DSSM's loss with smoothing factor g"""
    return F.cross_entropy(smoothing * scores.T, torch.zeros(scores.shape[1], dtype=torch.long, device=scores.device))


def cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """-y log sigmoid(s) - (1 - y) log(1 - sigmoid(s))"""
    return F.binary_cross_entropy_with_logits(scores, labels)


def squared(scores: Tensor, labels: Tensor) -> Tensor:
    """(y - s)²"""
    return F.mse_loss(scores, labels)


def label_loss(labels: NDArray[np.float32]) -> str:
    """The loss that suits labels: cross-entropy, once they are within 0 and 1, but squared where one is below 0."""
    return "squared" if np.any(labels < 0) else "bce"


LABELLED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"bce": cross_entropy, "squared": squared}
