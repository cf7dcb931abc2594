"""The processes that train a model together: one, or several with DistributedDataParallel."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from pairlight.layers.types import Tokens
from pairlight.models.base import PairModel
from pairlight.training.score_scale import ScoreScale

Network = Callable[[Tokens, Tokens], Tensor]  # a model, and the scale of its scores where there is one


class Workers(Protocol):
    """What the training loop needs to know of the other processes."""

    rank: int
    size: int

    def wrap(self, model: PairModel, scale: ScoreScale | None) -> Network:
        """The model with the weights of the first worker; gradients become the mean of those of all workers."""
        ...

    def gather(self, value: Any) -> list[Any]:
        """The values of all workers, in the order of their ranks; all must call it."""
        ...


class OneWorker:
    """Training in a single process."""

    rank, size = 0, 1

    def wrap(self, model: PairModel, scale: ScoreScale | None) -> Network:
        return model if scale is None else lambda left, right: scale(model(left, right))

    def gather(self, value: Any) -> list[Any]:
        return [value]


class DistributedWorkers:
    """The processes of the default process group of torch.distributed."""

    def __init__(self) -> None:
        self.rank, self.size = torch.distributed.get_rank(), torch.distributed.get_world_size()

    def wrap(self, model: PairModel, scale: ScoreScale | None) -> Network:
        # Not every model uses every parameter in every batch, and drmm has some that it never uses.
        return torch.nn.parallel.DistributedDataParallel(_Module(model, scale), find_unused_parameters=True)

    def gather(self, value: Any) -> list[Any]:
        found: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(found, value)
        return found


class _Module(torch.nn.Module):
    """A model of layers as a module of PyTorch, which DistributedDataParallel needs."""

    def __init__(self, model: PairModel, scale: ScoreScale | None) -> None:
        super().__init__()
        self.network = OneWorker().wrap(model, scale)
        self.tables: list[Tensor] = []
        layers = (layer for layer in model.all_layers() if getattr(layer, "sparse", False))
        sparse = {id(layer.weight) for layer in layers}  # type: ignore[attr-defined]  # an embedding
        for number, parameter in enumerate(model.parameters()):
            if id(parameter) not in sparse or not parameter.requires_grad:
                self.register_parameter(f"p{number}", parameter)
                continue
            # Gradients with few rows are expected only of such a module, and expected of it in every step.
            table = torch.nn.Embedding(1, 1, sparse=True)
            table.weight = parameter
            self.add_module(f"p{number}", table)
            self.tables.append(parameter)
        if scale is not None:
            self.add_module("scale", scale)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        scores = self.network(left, right)
        padding = torch.zeros(1, dtype=torch.long, device=scores.device)
        for table in self.tables:  # a gradient of zero for the row of padding, where the model reads no row
            scores = scores + 0.0 * torch.nn.functional.embedding(padding, table, sparse=True).sum()
        return scores
