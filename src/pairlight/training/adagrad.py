"""AdaGrad that updates only the rows of an embedding table that a batch has read."""

from collections.abc import Callable

import torch
from torch import Tensor


class RowAdagrad(torch.optim.Adagrad):
    """G += g²,  w -= lr g / (sqrt(G) + eps); with a sparse gradient, in its rows only.

    A row without a gradient would not change anyway, so the result equals that of the dense update, up to rounding.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None and weight.grad.is_sparse:
                    self._update_rows(weight, weight.grad.coalesce(), group["lr"], group["eps"])
                    weight.grad = None
        return super().step(closure)

    def _update_rows(self, weight: Tensor, gradient: Tensor, lr: float, eps: float) -> None:
        rows, g = gradient.indices()[0], gradient.values()
        total = self.state[weight]["sum"]
        squares = total[rows].addcmul_(g, g)
        total[rows] = squares
        weight[rows] = weight[rows].addcdiv_(g, squares.sqrt().add_(eps), value=-lr)
