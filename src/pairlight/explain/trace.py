"""Looking into a model from outside: what its stages give, and how the score follows when one of them is changed."""

import copy
import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from pairlight.models.base import PairModel
from pairlight.layers.types import Grid, Seq, Tokens
from pairlight.layers.tree_autoencoder import TreeAutoencoder
from pairlight.layers.trees import Trees

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
    trees: list[Trees]  # those that texts were read as, in the order of the calls

    def of(self, kind: type[M]) -> Iterator[tuple[M, Call]]:
        """The calls of all stages of this kind."""
        return ((call.module, call) for call in self.calls if isinstance(call.module, kind))


def apart(model: PairModel) -> PairModel:
    """The model again on the same weights: its stages can be watched and changed while others score with the model."""
    weights = (*model.parameters(), *model.buffers())
    # A weight made in inference mode has no slope, but a copy of it has.
    return copy.deepcopy(model, {id(each): each.clone() if each.is_inference() else each for each in weights}).eval()


@contextmanager
def hooked(modules: Collection[nn.Module], hook: Hook) -> Iterator[None]:
    """These modules with a hook, for the time of the block."""
    handles = [module.register_forward_hook(hook) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def replayed(seen: Run, modules: Collection[nn.Module], times: int) -> Iterator[None]:
    """These stages and all before them give so many copies of what they gave in the run, and compute nothing anew."""
    last = max((at for at, call in enumerate(seen.calls) if call.module in modules), default=-1)
    given: dict[nn.Module, list[Any]] = {}
    for call in seen.calls[: last + 1]:
        given.setdefault(call.module, []).append(call.output)
    patched = list(_outermost(seen.model, modules, given))
    for module in patched:
        module.forward = _again(module.forward, [_copies(output, times) for output in given[module]])
    try:
        yield
    finally:
        for module in patched:
            del module.forward


def _outermost(
    module: nn.Module, ends: Collection[nn.Module], given: Mapping[nn.Module, list[Any]]
) -> Iterator[nn.Module]:
    """The stages to be replayed: the ends themselves, and others that gave sequences or grids of one pair."""
    for child in module.children():
        inside = any(inner in ends for inner in child.modules())
        if child in given and (child in ends or (not inside and all(map(_of_one_pair, given[child])))):
            yield child
        else:
            yield from _outermost(child, ends, given)


def _of_one_pair(output: Any) -> bool:
    return all(isinstance(each, (Seq, Grid)) and len(each.x) == 1 for each in parts(output))


def _again(forward: Callable[..., Any], outputs: list[Any]) -> Callable[..., Any]:
    """What was given before, in the same order, and what is asked for beyond that computed."""

    def give(*args: Any) -> Any:
        return outputs.pop(0) if outputs else forward(*args)

    return give


def _copies(output: Any, times: int) -> Any:
    if isinstance(output, Tensor):
        return output.expand(times, *output.shape[1:])
    if isinstance(output, (list, tuple)):
        return type(output)([_copies(each, times) for each in output])
    return replace(output, **{name: _copies(each, times) for name, each in vars(output).items()})


@torch.no_grad()
def run(model: PairModel, left: Tokens, right: Tokens) -> Run:
    """Score one pair and keep what every stage was given and gave."""
    calls: list[Call] = []

    def note(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        calls.append(Call(module, args, output))

    with hooked(list(model.modules()), note), _noted(model) as trees:
        score = float(model(left, right)[0])
    return Run(model, left, right, score, calls, trees)


@contextmanager
def _noted(model: PairModel) -> Iterator[list[Trees]]:
    """The trees built in the time of the block: building them anew would take as long as scoring."""
    found: list[Trees] = []
    builders = [module for module in model.modules() if isinstance(module, TreeAutoencoder)]

    def noting(build: Callable[..., Trees]) -> Callable[..., Trees]:
        def trees(*args: Any) -> Trees:
            found.append(build(*args))
            return found[-1]

        return trees

    for module in builders:
        module.trees = noting(module.trees)  # type: ignore[method-assign]
    try:
        yield found
    finally:
        for module in builders:
            del module.trees


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


@functools.cache
def _gauss(steps: int) -> tuple[Any, Any]:
    """Where to look, from -1 to 1, and how much each look counts."""
    return np.polynomial.legendre.leggauss(steps)


def _integrated(seen: Run, modules: Collection[nn.Module], steps: int) -> Integrated | None:
    nodes, weights = _gauss(steps)
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

    with replayed(seen, modules, len(alpha)), hooked(modules, scaled), torch.enable_grad():
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

    with replayed(seen, [module], times), hooked([module], hook):
        scores: Tensor = seen.model(repeated(seen.left, times), repeated(seen.right, times))
    return scores


def repeated(tokens: Tokens, times: int) -> Tokens:
    joins = None if tokens.joins is None else tokens.joins.repeat(times, 1)
    return replace(tokens, ids=tokens.ids.repeat(times, 1), mask=tokens.mask.repeat(times, 1), joins=joins)


def parts(output: Any) -> list[Any]:
    return list(output) if isinstance(output, (list, tuple)) else [output]
