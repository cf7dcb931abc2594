"""Looking into a model from outside: what its stages give, and how the score follows when one of them is changed."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from pairlight.models.base import PairModel
from pairlight.parts import Grid, Seq, Tokens

Hook = Callable[[nn.Module, tuple[Any, ...], Any], Any]
M = TypeVar("M", bound=nn.Module)
STEPS = (16, 64, 256)  # more are taken only where fewer don't add up
ADDS_UP = 0.02  # the part of score - baseline that may be missing before more steps are taken
MISSING = 0.1  # and that may be missing in the end


@dataclass(frozen=True)
class Call:
    """A stage at work."""

    module: nn.Module
    args: tuple[Any, ...]
    output: Any


@dataclass(frozen=True)
class Run:
    """One pair on its way through a model."""

    model: PairModel
    left: Tokens
    right: Tokens
    score: float
    calls: list[Call]  # in the order they ended, so that a stage stands behind those it is made of

    def of(self, kind: type[M]) -> Iterator[tuple[M, Call]]:
        """The calls of all stages of this kind."""
        return ((call.module, call) for call in self.calls if isinstance(call.module, kind))


@contextmanager
def hooked(modules: Collection[nn.Module], hook: Hook) -> Iterator[None]:
    """These modules with a hook, for the time of the block."""
    handles = [module.register_forward_hook(hook) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def run(model: PairModel, left: Tokens, right: Tokens) -> Run:
    """Score one pair and keep what every stage was given and gave."""
    calls: list[Call] = []
    with hooked(list(model.modules()), lambda module, args, output: calls.append(Call(module, args, output))):
        score = float(model(left, right)[0])
    return Run(model, left, right, score, calls)


def readers_of_words(seen: Run) -> list[nn.Module]:
    """The stages where words become vectors: tokens in, sequences out, and none of the kind inside."""
    found = {
        call.module
        for call in seen.calls
        if any(isinstance(each, Tokens) for each in call.args)
        and all(isinstance(each, Seq) for each in parts(call.output))
    }
    return [module for module in found if not any(inner in found for inner in module.modules() if inner is not module)]


def interaction(seen: Run) -> Call | None:
    """The stage where positions of both texts meet: the one named `interact`, else the first that makes a grid."""
    named = getattr(seen.model, "interact", None)
    met = [call for call in seen.calls if isinstance(call.output, Grid)]
    meant = [call for call in met if call.module is named]
    two = [call for call in met if len(call.args) == 2 and all(isinstance(each, Seq) for each in call.args)]
    return next(iter(meant or two), None)


@dataclass(frozen=True)
class Part:
    """What one call of a stage gave, x, and how the score follows it on the way there from zero."""

    call: Call
    index: int  # which of the call's outputs
    x: Tensor
    slope: Tensor  # the mean of d score / d x

    @property
    def adds(self) -> Tensor:
        return self.x * self.slope


@dataclass(frozen=True)
class Integrated:
    """Integrated gradients: the parts add up to score - baseline, but for the residual."""

    left: Tokens  # as many copies of the left text as there were steps, to know it by in the calls
    parts: list[Part]
    baseline: float
    residual: float
    span: float  # score - baseline

    @property
    def adds_up(self) -> bool:
        return abs(self.residual) <= MISSING * abs(self.span) + 1e-6


def integrated(seen: Run, modules: Collection[nn.Module]) -> Integrated | None:
    """Lead what these modules give from zero to what it is, and add up how the score follows; None if it does not."""
    found = None
    for steps in STEPS:
        found = _integrated(seen, modules, steps)
        if found is None or abs(found.residual) <= ADDS_UP * abs(found.span) + 1e-7:
            break
    return found


def _integrated(seen: Run, modules: Collection[nn.Module], steps: int) -> Integrated | None:
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    dtype = next((p.dtype for p in seen.model.parameters()), torch.float32)
    # The last two rows are the baseline and the pair itself.
    alpha = torch.tensor([*(nodes + 1) / 2, 0.0, 1.0], dtype=dtype, device=seen.left.ids.device)
    weight = torch.tensor([*weights / 2, 0.0, 0.0], dtype=dtype, device=alpha.device)
    leaves: list[tuple[Call, int, Tensor, Tensor]] = []

    def scaled(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        def one(index: int, each: Any) -> Any:
            x = each if isinstance(each, Tensor) else each.x
            x = x.detach()
            leaf = (x * alpha.view(-1, *[1] * (x.dim() - 1))).requires_grad_()
            leaves.append((Call(module, args, output), index, x[-1], leaf))
            return leaf if isinstance(each, Tensor) else replace(each, x=leaf)

        changed = [one(index, each) for index, each in enumerate(parts(output))]
        return type(output)(changed) if isinstance(output, (list, tuple)) else changed[0]

    with hooked(modules, scaled), torch.enable_grad():
        left, right = repeated(seen.left, len(alpha)), repeated(seen.right, len(alpha))
        scores = seen.model(left, right)
        if not scores.requires_grad:
            return None
        slopes = torch.autograd.grad((scores * weight).sum(), [leaf for *_, leaf in leaves], allow_unused=True)
    if all(slope is None for slope in slopes):
        return None
    found = [
        Part(call, index, x, torch.zeros_like(x) if slope is None else slope.sum(0))
        for (call, index, x, _), slope in zip(leaves, slopes, strict=True)
    ]
    baseline, score = scores[-2:].tolist()
    span = score - baseline
    return Integrated(left, found, baseline, span - sum(float(part.adds.sum()) for part in found), span)


@torch.no_grad()
def changed(seen: Run, module: nn.Module, change: Callable[[Tensor], Tensor], times: int) -> Tensor:
    """The scores of so many copies of the pair where what this module gives is changed.   x[times, ..] -> [times]"""

    def hook(_: nn.Module, __: tuple[Any, ...], output: Any) -> Any:
        return change(output.clone()) if isinstance(output, Tensor) else replace(output, x=change(output.x.clone()))

    with hooked([module], hook):
        scores: Tensor = seen.model(repeated(seen.left, times), repeated(seen.right, times))
    return scores


def repeated(tokens: Tokens, times: int) -> Tokens:
    return replace(tokens, ids=tokens.ids.repeat(times, 1), mask=tokens.mask.repeat(times, 1))


def parts(output: Any) -> list[Any]:
    return list(output) if isinstance(output, (list, tuple)) else [output]
