"""The scan of a grid: read by hand, blind to padding, and able to count the longest common subsequence."""

import numpy as np
import pytest
import torch

from pairlight.core.errors import InputError
from pairlight.layers.types import Grid, Seq
from pairlight.layers.interactions import build_interaction
from pairlight.layers.spatial_gru import BiSpatialGRU, SpatialGRU, fused_scan

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
    """Random grids of these sizes in one batch; what lies outside a grid is poisoned."""
    torch.manual_seed(1)
    L, R = max(n for n, _ in sizes), max(m for _, m in sizes)
    x = torch.full((len(sizes), 2, L, R), poison, dtype=torch.float64)
    mask = torch.zeros(len(sizes), L, R, dtype=torch.bool)
    for pair, (n, m) in enumerate(sizes):
        x[pair, :, :n, :m] = torch.randn(2, n, m, dtype=torch.float64)
        mask[pair, :n, :m] = True
    return Grid(x, mask)


def scrambled(part: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(0)
    for parameter in part.double().parameters():
        torch.nn.init.normal_(parameter, 0, 0.6)
    return part


@EVERY
@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_what_lies_outside_a_grid_is_never_read(scan, poison):
    part = scrambled(SpatialGRU(2, 3, **scan))
    torch.testing.assert_close(part(grid(poison=poison)), part(grid()), rtol=0, atol=0)


@EVERY
def test_the_result_is_the_state_of_the_last_cell_that_the_scan_reaches(scan):
    part, s = scrambled(SpatialGRU(2, 3, **scan)), grid()
    states = part.cells(s).states
    for pair, (n, m) in enumerate(SIZES):
        last = states[pair, 0, 0] if scan.get("backwards") else states[pair, n - 1, m - 1]
        torch.testing.assert_close(part(s)[pair], last, rtol=1e-12, atol=1e-12)


@EVERY
def test_the_update_gates_of_a_cell_sum_to_one_and_padding_has_none(scan):
    part, s = scrambled(SpatialGRU(2, 3, **scan)), grid()
    cells = part.cells(s)
    torch.testing.assert_close(cells.update.sum(3), s.mask[..., None].double().expand(-1, -1, -1, 3))
    assert (cells.reset is None) == (scan.get("reset_gates") is False)


def test_tied_gates_have_one_value_in_every_dimension():
    cells = scrambled(SpatialGRU(2, 3, tied_gates=True)).cells(grid())
    for gate in (cells.update, cells.reset):
        torch.testing.assert_close(gate, gate[..., :1].expand_as(gate))
    assert (cells.states[0, 0, 0] != cells.states[0, 0, 0, :1]).any()


def test_one_cell_is_its_input_gate_times_the_new_state():
    part, s = scrambled(SpatialGRU(2, 3)), grid([(1, 1)])
    x = s.x[0, :, 0, 0]
    z = (part.gates[9:, 9:] @ x + part.gates_bias[9:]).view(4, 3).softmax(0)
    torch.testing.assert_close(part(s)[0], z[3] * torch.tanh(part.candidate[:, 9:] @ x + part.candidate_bias))


def test_both_scans_read_the_grid_from_opposite_corners():
    part, s = scrambled(BiSpatialGRU(2, 3)), grid([(3, 4)])
    turned = Grid(s.x.flip(2, 3), s.mask)
    mirror = SpatialGRU(2, 3).double()
    mirror.load_state_dict(part.backwards.state_dict())
    torch.testing.assert_close(part(s), torch.cat([part.forwards(s), mirror(turned)], -1))


def test_an_unknown_activation_is_named_with_the_known_ones():
    with pytest.raises(InputError, match="activation='gelu' is none of tanh, relu"):
        SpatialGRU(1, 1, activation="gelu")


def longest_common(a: list[int], b: list[int]) -> int:
    c = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            c[i, j] = c[i - 1, j - 1] + 1 if x == y else max(c[i - 1, j], c[i, j - 1])
    return int(c[-1, -1])


def test_one_unit_without_reset_gates_can_count_the_longest_common_subsequence():
    # Where two letters agree, the input gate opens to relu(diagonal + 1); elsewhere the greater of top and left wins.
    part = SpatialGRU(1, 1, reset_gates=False, activation="relu").double()
    with torch.no_grad():
        part.gates.copy_(torch.tensor([[0, 0, 0, 0], [0, 60, 0, 0], [0, 0, 60, 0], [0, 0, 0, 4000]]))
        part.gates_bias.copy_(torch.tensor([-4000, 0, 0, -2000]))
        part.candidate.copy_(torch.tensor([[1, 0, 0, 1]]))
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = (rng.integers(0, 4, rng.integers(1, 15)).tolist() for _ in range(2))
        same = torch.tensor([[[[float(x == y) for y in b] for x in a]]], dtype=torch.float64)
        assert part(Grid(same, torch.ones_like(same[:, 0], dtype=torch.bool))).item() == pytest.approx(
            longest_common(a, b)
        )


def seq(lengths: list[int], seed: int) -> Seq:
    g = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths) + 1) < torch.tensor(lengths)[:, None]
    x = torch.randn(*mask.shape, 6, dtype=torch.float64, generator=g).masked_fill(~mask[..., None], 0)
    return Seq(x.requires_grad_(), mask, mask.long())


@pytest.mark.parametrize("kind", ["tensor", "cosine", "bilinear"])
@pytest.mark.parametrize("scan", [SpatialGRU, BiSpatialGRU])
def test_a_layer_folded_into_the_scan_gives_what_the_two_stages_give(kind, scan):
    interact = scrambled(build_interaction(kind, 6, 3))
    aggregate = scrambled(scan(interact.channels, 4))
    found = []
    for forward in (lambda u, v: fused_scan(interact, aggregate, u, v), lambda u, v: aggregate(interact(u, v))):
        u, v = seq([4, 1, 5], 0), seq([2, 5, 1, 3, 1, 4], 1)  # each left text faces two right ones
        h = forward(u, v)
        weight = torch.linspace(1, 2, h.numel(), dtype=h.dtype).view_as(h)
        parameters = [*interact.parameters(), *aggregate.parameters()]
        found.append([h, *torch.autograd.grad((h * weight).sum(), [u.x, v.x, *parameters])])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("watched", ["interact", "aggregate", "forwards"])
def test_a_watched_stage_runs(watched):
    interact, aggregate, seen = scrambled(build_interaction("tensor", 6, 3)), scrambled(BiSpatialGRU(3, 4)), []
    stage = {"interact": interact, "aggregate": aggregate, "forwards": aggregate.forwards}[watched]
    stage.register_forward_hook(lambda module, args, output: seen.append(output))
    fused_scan(interact, aggregate, seq([4], 0), seq([5], 1))
    assert len(seen) == 1
