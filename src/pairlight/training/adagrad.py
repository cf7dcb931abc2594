"""AdaGrad that touches, of a table of words, only the rows that a batch has read; all else stays to the bit."""

from collections.abc import Callable

import torch
from torch import Tensor


class RowAdagrad(torch.optim.Adagrad):
    """G += g²,  w -= lr g / (sqrt(G) + eps); where g is sparse, in its rows alone.

    A row without a gradient would not move anyway, so the result is that of the whole table, to rounding.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None and weight.grad.is_sparse:
                    self._rows(weight, weight.grad.coalesce(), group["lr"], group["eps"])
                    weight.grad = None
        return super().step(closure)

    def _rows(self, weight: Tensor, gradient: Tensor, lr: float, eps: float) -> None:
        rows, g = gradient.indices()[0], gradient.values()
        total = self.state[weight]["sum"]
        squares = total[rows].addcmul_(g, g)
        total[rows] = squares
        weight[rows] = weight[rows].addcdiv_(g, squares.sqrt().add_(eps), value=-lr)
