"""A learned scale and bias for the scores of models whose score is bounded, under losses of labels."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LARGEST = 20.0  # of the scale at the start, where the scores of an untrained model hardly differ


class ScoreScale(torch.nn.Module):
    """exp(a) s + b, where a and b are trained with the model.

    A cosine as a logit gives only probabilities from 0.27 to 0.73. The scale is positive, so it changes neither the
    order of scores nor what a threshold can separate: it is part of the loss, and not of the model that is saved.
    At the start, the logits of training pairs have mean 0 and standard deviation 1 (bce), or those of the labels
    (squared): a bias far off would be corrected by the weights of the model, which would unlearn what they start with.
    """

    def __init__(self, loss: str, scores: NDArray[np.float32], labels: NDArray[np.float32]) -> None:
        super().__init__()
        mean, spread = (0.0, 1.0) if loss == "bce" else (float(labels.mean()), float(labels.std()) or 1.0)
        scale = spread * min(LARGEST, 1 / max(float(scores.std()), 1e-6))
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(scale)))
        self.bias = torch.nn.Parameter(torch.tensor(mean - scale * float(scores.mean())))

    def forward(self, scores: Tensor) -> Tensor:
        return self.log_scale.exp() * scores + self.bias
