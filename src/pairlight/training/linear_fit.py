"""Fits the linear layer of a model's evidence to the training pairs, before the model itself is trained."""

import numpy as np
import torch
from torch import Tensor

from pairlight.data.batching import batches_by_length
from pairlight.layers.collate import collate
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.training.config import TrainingConfig
from pairlight.training.examples import Epoch, LabeledExamples, RankingExamples
from pairlight.training.losses import LABEL_LOSS_FUNCTIONS, listwise

MAX_PAIRS = 20_000  # more do not change nine weights
BATCH = 256
PENALTY = 0.1  # of the squared distance from the untrained weights, as if it were the loss of so many examples
ENOUGH = 100  # examples; with fewer, the penalty grows
STEPS = 100  # of L-BFGS; the loss is convex, and a few dozen are enough


def fit_linear(
    model: PairModel, texts: TokenizedTexts, examples: RankingExamples | LabeledExamples, config: TrainingConfig
) -> None:
    """Minimize the training loss over the weights of `model.linear_layer()`, with a penalty for leaving their start.

    Lists are scored by the listwise loss, whatever their loss in training is.
    """
    linear = model.linear_layer()
    if linear is None:
        return
    epoch = _some(examples.epoch(np.random.default_rng(config.seed)))
    f = _features(model, texts, epoch)  # [T, 1 + J, D]
    parameters = [linear.weight, linear.bias]
    start = torch.cat([each.detach().double().cpu().flatten() for each in parameters])
    w = start.clone().requires_grad_()
    penalty = PENALTY * max(1.0, ENOUGH / len(f)) / len(f)
    label = None if epoch.label is None else torch.from_numpy(epoch.label).double()
    optimizer = torch.optim.LBFGS([w], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        scores = f @ w[:-1] + w[-1]  # [T, 1 + J]
        value = listwise(scores.T, 1.0) if label is None else LABEL_LOSS_FUNCTIONS[config.loss](scores[:, 0], label)
        value = value + penalty * (w - start).square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    found = w.detach()
    if not bool(torch.isfinite(found).all()):
        return
    with torch.no_grad():
        parameters[0].copy_(found[None, :-1])
        parameters[1].copy_(found[-1:])


def _some(epoch: Epoch) -> Epoch:
    """The first examples, in random order, that have at most MAX_PAIRS pairs."""
    count = max(1, MAX_PAIRS // epoch.right.shape[1])
    if len(epoch.left) <= count:
        return epoch
    rows = np.random.default_rng(0).permutation(len(epoch.left))[:count]
    return epoch.take(rows)


@torch.no_grad()
def _features(model: PairModel, texts: TokenizedTexts, epoch: Epoch) -> Tensor:
    """The features of every pair of these examples, in double precision: [T, 1 + J, D]."""
    model.eval()
    columns = epoch.right.shape[1]
    left, right = np.repeat(epoch.left, columns), epoch.right.reshape(-1)
    device = next(model.parameters()).device
    features: Tensor | None = None
    for rows in batches_by_length(texts.lengths[left] * texts.lengths[right], BATCH):
        batch = model.linear_features(collate(texts, left[rows], device), collate(texts, right[rows], device))
        if features is None:
            features = torch.zeros(len(left), batch.shape[1], dtype=torch.float64)
        features[torch.from_numpy(rows)] = batch.double().cpu()
    if features is None:
        raise ValueError("There are no examples.")
    return features.view(len(epoch.left), columns, -1)
