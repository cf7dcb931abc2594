"""A learned scale and bias for the scores of models whose score is bounded, under losses of labels."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LOGIT = 4.0  # sigmoid(4) = 0.98


class ScoreScale(torch.nn.Module):
    """exp(a) s + b, where a and b are trained with the model.

    A cosine as a logit gives only probabilities from 0.27 to 0.73. The scale is positive, so it changes neither the
    order of scores nor what a threshold can separate: it is part of the loss, and not of the model that is saved.
    At the start, scores from -1 to 1 become logits from -4 to 4 (bce) or span the labels (squared).
    """

    def __init__(self, loss: str, labels: NDArray[np.float32]) -> None:
        super().__init__()
        low, high = (-LOGIT, LOGIT) if loss == "bce" else (float(labels.min()), float(labels.max()))
        scale = (high - low) / 2 or 1.0  # all labels may be equal
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(scale)))
        self.bias = torch.nn.Parameter(torch.tensor((low + high) / 2))

    def forward(self, scores: Tensor) -> Tensor:
        return self.log_scale.exp() * scores + self.bias
