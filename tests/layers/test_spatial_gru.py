"""The spatial GRU equals its equations, never reads padding, and can count the longest common subsequence."""

import numpy as np
import pytest
import torch

from layers.toy import Recorder
from pairlight.core.errors import InputError
from pairlight.layers.interactions import build_interaction
from pairlight.layers.layer import Layer
from pairlight.layers.spatial_gru import BiSpatialGRU, SpatialGRU, fused_scan
from pairlight.layers.tracing import tracing
from pairlight.layers.types import Grid, Seq
from pairlight.models import build

SIZES = [(4, 6), (1, 1), (5, 2), (1, 6)]
EVERY = pytest.mark.parametrize(
    "scan",
    [
        {},
        {"reset_gates": False},
        {"tied_gates": True},
        {"activation": "relu"},
        {"backwards": True},
        {"reset_gates": False, "tied_gates": True, "backwards": True},
    ],
    ids=str,
)


def grid(sizes=SIZES, poison=0.0) -> Grid:
    """Random grids of these sizes in one batch, with poisoned padding."""
    torch.manual_seed(1)
    L, R = max(n for n, _ in sizes), max(m for _, m in sizes)
    x = torch.full((len(sizes), 2, L, R), poison, dtype=torch.float64)
    mask = torch.zeros(len(sizes), L, R, dtype=torch.bool)
    for pair, (n, m) in enumerate(sizes):
        x[pair, :, :n, :m] = torch.randn(2, n, m, dtype=torch.float64)
        mask[pair, :n, :m] = True
    return Grid(x, mask)


def scrambled(layer: Layer) -> Layer:
    torch.manual_seed(0)
    for parameter in layer.double().parameters():
        torch.nn.init.normal_(parameter, 0, 0.6)
    return layer


@EVERY
@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_padding_is_never_read(scan, poison):
    layer = scrambled(SpatialGRU(2, 3, **scan))
    torch.testing.assert_close(layer(grid(poison=poison)), layer(grid()), rtol=0, atol=0)


@EVERY
def test_the_result_is_the_state_of_the_last_cell_of_the_scan(scan):
    layer, s = scrambled(SpatialGRU(2, 3, **scan)), grid()
    states = layer.states_and_gates(s).states
    for pair, (n, m) in enumerate(SIZES):
        last = states[pair, 0, 0] if scan.get("backwards") else states[pair, n - 1, m - 1]
        torch.testing.assert_close(layer(s)[pair], last, rtol=1e-12, atol=1e-12)


@EVERY
def test_the_update_gates_of_a_cell_sum_to_one_and_are_zero_under_padding(scan):
    layer, s = scrambled(SpatialGRU(2, 3, **scan)), grid()
    found = layer.states_and_gates(s)
    torch.testing.assert_close(found.update.sum(3), s.mask[..., None].double().expand(-1, -1, -1, 3))
    assert (found.reset is None) == (scan.get("reset_gates") is False)


def test_tied_gates_have_the_same_value_in_every_dimension():
    found = scrambled(SpatialGRU(2, 3, tied_gates=True)).states_and_gates(grid())
    for gate in (found.update, found.reset):
        torch.testing.assert_close(gate, gate[..., :1].expand_as(gate))
    assert (found.states[0, 0, 0] != found.states[0, 0, 0, :1]).any()


def test_the_state_of_a_single_cell_is_its_input_gate_times_the_new_state():
    layer, s = scrambled(SpatialGRU(2, 3)), grid([(1, 1)])
    x = s.x[0, :, 0, 0]
    z = (layer.gates[9:, 9:] @ x + layer.gates_bias[9:]).view(4, 3).softmax(0)
    torch.testing.assert_close(layer(s)[0], z[3] * torch.tanh(layer.candidate[:, 9:] @ x + layer.candidate_bias))


def test_the_two_scans_start_at_opposite_corners():
    layer, s = scrambled(BiSpatialGRU(2, 3)), grid([(3, 4)])
    turned = Grid(s.x.flip(2, 3), s.mask)
    mirror = SpatialGRU(2, 3).double()
    mirror.load_state_dict(layer.backwards.state_dict())
    torch.testing.assert_close(layer(s), torch.cat([layer.forwards(s), mirror(turned)], -1))


def test_an_unknown_activation_is_rejected_with_the_known_ones():
    with pytest.raises(InputError, match="match-srnn: activation='gelu' is not one of tanh, relu"):
        build("match-srnn", 9, activation="gelu")


def longest_common_subsequence(a: list[int], b: list[int]) -> int:
    c = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            c[i, j] = c[i - 1, j - 1] + 1 if x == y else max(c[i - 1, j], c[i, j - 1])
    return int(c[-1, -1])


def test_one_unit_without_reset_gates_can_count_the_longest_common_subsequence():
    # For two equal ids the input gate selects relu(diagonal + 1), otherwise the larger of the other two neighbors wins.
    layer = SpatialGRU(1, 1, reset_gates=False, activation="relu").double()
    with torch.no_grad():
        layer.gates.copy_(torch.tensor([[0, 0, 0, 0], [0, 60, 0, 0], [0, 0, 60, 0], [0, 0, 0, 4000]]))
        layer.gates_bias.copy_(torch.tensor([-4000, 0, 0, -2000]))
        layer.candidate.copy_(torch.tensor([[1, 0, 0, 1]]))
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = (rng.integers(0, 4, rng.integers(1, 15)).tolist() for _ in range(2))
        same = torch.tensor([[[[float(x == y) for y in b] for x in a]]], dtype=torch.float64)
        assert layer(Grid(same, torch.ones_like(same[:, 0], dtype=torch.bool))).item() == pytest.approx(
            longest_common_subsequence(a, b)
        )


def seq(lengths: list[int], seed: int) -> Seq:
    g = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths) + 1) < torch.tensor(lengths)[:, None]
    x = torch.randn(*mask.shape, 6, dtype=torch.float64, generator=g).masked_fill(~mask[..., None], 0)
    return Seq(x.requires_grad_(), mask, mask.long())


@pytest.mark.parametrize("kind", ["tensor", "cosine", "bilinear"])
@pytest.mark.parametrize("scan", [SpatialGRU, BiSpatialGRU])
def test_the_fused_scan_has_the_values_and_gradients_of_the_two_layers(kind, scan):
    interact = scrambled(build_interaction(kind, 6, 3))
    aggregate = scrambled(scan(interact.channels, 4))
    found = []
    for forward in (lambda u, v: fused_scan(interact, aggregate, u, v), lambda u, v: aggregate(interact(u, v))):
        u, v = seq([4, 1, 5], 0), seq([2, 5, 1, 3, 1, 4], 1)  # two right texts for each left text
        h = forward(u, v)
        weight = torch.linspace(1, 2, h.numel(), dtype=h.dtype).view_as(h)
        parameters = [*interact.parameters(), *aggregate.parameters()]
        found.append([h, *torch.autograd.grad((h * weight).sum(), [u.x, v.x, *parameters])])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("watched", ["interact", "aggregate", "forwards"])
def test_a_watched_layer_is_called(watched):
    interact, aggregate = scrambled(build_interaction("tensor", 6, 3)), scrambled(BiSpatialGRU(3, 4))
    trace = Recorder({"interact": interact, "aggregate": aggregate, "forwards": aggregate.forwards}[watched])
    with tracing(trace):
        fused_scan(interact, aggregate, seq([4], 0), seq([5], 1))
    assert len(trace.outputs) == 1
