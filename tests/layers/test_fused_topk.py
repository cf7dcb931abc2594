"""Fused top-k pooling has the values and gradients of the whole grid, without computing it."""

import pytest
import torch

from layers.toy import Recorder
from pairlight.layers.fused_topk import MAX_K, fused_topk
from pairlight.layers.interactions import Interaction, build_interaction
from pairlight.layers.topk import KMax
from pairlight.layers.tracing import tracing
from pairlight.layers.types import Seq

DIM = 6
KINDS = ["cosine", "cosine-per-direction", "dot", "gaussian", "bilinear", "tensor"]


def seq(lengths: list[int], seed: int, poison: float = 0.0) -> Seq:
    g = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths) + 1) < torch.tensor(lengths)[:, None]
    x = torch.randn(*mask.shape, DIM, dtype=torch.float64, generator=g).masked_fill(~mask[..., None], poison)
    return Seq(x.requires_grad_(), mask, torch.randint(2, 6, mask.shape, generator=g))


def scrambled(kind: str) -> Interaction:
    torch.manual_seed(1)
    interact = build_interaction(kind, DIM, 3).double()
    with torch.no_grad():
        for parameter in interact.parameters():
            parameter.normal_(0, 0.4)
    return interact


def fused_and_whole(kind: str, k: int, poison: float = 0.0) -> list[list[torch.Tensor]]:
    """The results of the fused function and of the whole grid: values, then gradients of texts and weights."""
    found = []
    for training in (True, False):
        interact, aggregate = scrambled(kind).train(training), KMax(k)
        u, v = seq([4, 1, 5], 0, poison), seq([2, 5, 1, 3, 1, 4], 1, poison)  # two right texts for each left text
        q = fused_topk(interact, aggregate, u, v)
        weight = torch.linspace(1, 2, q.numel(), dtype=q.dtype).view_as(q)
        found.append([q.detach(), *torch.autograd.grad((q * weight).sum(), [u.x, v.x, *interact.parameters()])])
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, MAX_K])  # MAX_K is larger than the grids of some pairs
def test_values_and_gradients_are_those_of_the_whole_grid(kind, k):
    fused, whole = fused_and_whole(kind, k)
    assert whole[0].abs().sum() > 0
    assert all(gradient.abs().sum() > 0 for gradient in whole[1:])
    for one, two in zip(fused, whole, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_padding_is_never_read(kind, poison):
    clean, dirty = fused_and_whole(kind, 4)[0], fused_and_whole(kind, 4, poison)[0]
    torch.testing.assert_close(dirty[0], clean[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3, MAX_K, 2 * MAX_K])
def test_scoring_gives_the_values_of_the_whole_grid(kind, k):
    interact, aggregate, u, v = scrambled(kind).eval(), KMax(k), seq([4, 1, 5], 0), seq([2, 5, 1, 3, 1, 4], 1)
    with torch.no_grad():
        torch.testing.assert_close(fused_topk(interact, aggregate, u, v), aggregate(interact(u, v)))


@pytest.mark.parametrize(
    ("training", "k", "gradient", "whole"),
    [(True, 3, True, False), (True, MAX_K + 1, True, True), (False, 3, True, True), (False, 3, False, False)],
)
def test_the_whole_grid_is_computed_only_for_its_gradient_or_for_a_large_k(training, k, gradient, whole):
    interact, grids = scrambled("tensor").train(training), []
    interact.forward = lambda u, v: grids.append(1) or type(interact).forward(interact, u, v)
    with torch.set_grad_enabled(gradient):
        fused_topk(interact, KMax(k), seq([4], 0), seq([5], 1))
    assert bool(grids) == whole


@pytest.mark.parametrize("watched", [0, 1])
def test_a_watched_layer_is_called(watched):
    layers = scrambled("tensor").eval(), KMax(3)
    trace = Recorder(layers[watched])
    with torch.no_grad(), tracing(trace):
        fused_topk(*layers, seq([4], 0), seq([5], 1))
    assert len(trace.outputs) == 1
