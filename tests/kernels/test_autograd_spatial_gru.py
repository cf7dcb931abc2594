"""The PyTorch functions of the spatial GRU, with the native kernel and with their reference implementation."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from kernels.forcing import (
    assert_agrees,
    forced,
    on_every_width,
    on_reference_and_native,
    result_and_gradients,
    same_bits,
    threads,
)
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.spatial_gru import GruWeights, spatial_gru, spatial_gru_states

options = st.fixed_dictionaries(
    {
        "reset": st.booleans(),
        "tied": st.booleans(),
        "offset": st.booleans(),
        "reverse": st.booleans(),
        "activation": st.sampled_from(["tanh", "relu"]),
    }
)


class Example:
    """Random pairs and weights; `run` takes the tensors that have a gradient."""

    def __init__(self, B: int, C: int, L: int, R: int, D: int, seed: int, least: int = 0, **how: object) -> None:
        g = torch.Generator().manual_seed(seed)
        self.how = {"reset": True, "tied": False, "offset": False, "reverse": False, "activation": "tanh"} | how
        self.left = torch.randint(least, L + 1, (B,), generator=g)
        self.right = torch.randint(least, R + 1, (B,), generator=g)
        gates = 7 if self.how["reset"] else 4
        rows = gates if self.how["tied"] else gates * D
        shapes = [(B, L, C, R), (rows, 3 * D + C), (rows,), (D, 3 * D + C), (D,), (B, C, L)]
        scales = [1.0, *4 * [(3 * D + C) ** -0.5], 1.0]  # with larger weights, relu states diverge
        self.tensors = [
            scale * torch.randn(shape, generator=g, dtype=torch.float64)
            for scale, shape in zip(scales, shapes, strict=True)
        ][: 6 if self.how["offset"] else 5]

    def run(self, s: Tensor, *rest: Tensor) -> Tensor:
        return spatial_gru(s.permute(0, 2, 1, 3), self.left, self.right, GruWeights(*rest[:4]), **self.options(rest))

    def states(self, s: Tensor, *rest: Tensor):  # type: ignore[no-untyped-def]
        s = s.permute(0, 2, 1, 3)
        return spatial_gru_states(s, self.left, self.right, GruWeights(*rest[:4]), **self.options(rest))

    def options(self, rest: tuple[Tensor, ...]) -> dict[str, object]:
        offset = rest[4] if self.how["offset"] else None
        return {"offset": offset, "activation": self.how["activation"], "reverse": self.how["reverse"]}


def cell_by_cell(example: Example) -> list[Tensor]:
    """Equations (3) and (4), one pair and one cell at a time, without vectorization."""
    s, gates, gates_bias, candidate, candidate_bias, *offset = example.tensors
    D = candidate.shape[0]
    if example.how["tied"]:
        gates, gates_bias = gates.repeat_interleave(D, 0), gates_bias.repeat_interleave(D, 0)
    results = []
    for b, (m, n) in enumerate(zip(example.left.tolist(), example.right.tolist(), strict=True)):
        h = {}
        zero = torch.zeros(D, dtype=torch.float64)
        for i in range(m):
            for j in range(n):
                at = (m - 1 - i, n - 1 - j) if example.how["reverse"] else (i, j)
                x = s[b, at[0], :, at[1]]
                x = torch.relu(x + offset[0][b, :, at[0]]) if offset else x
                around = [h.get((i - 1, j - 1), zero), h.get((i - 1, j), zero), h.get((i, j - 1), zero)]
                sums = (gates @ torch.cat([*around, x]) + gates_bias).split(D)
                seen = around
                if example.how["reset"]:
                    seen = [torch.sigmoid(r) * past for r, past in zip(sums[:3], around, strict=True)]
                fresh = candidate @ torch.cat([*seen, x]) + candidate_bias
                fresh = torch.tanh(fresh) if example.how["activation"] == "tanh" else torch.relu(fresh)
                z = torch.stack(sums[-4:]).softmax(0)
                h[i, j] = (z * torch.stack([*around, fresh])).sum(0)
        results.append(h.get((m - 1, n - 1), zero))
    return results


@on_reference_and_native
@settings(max_examples=12, deadline=None)
@given(options, st.integers(0, 10**6))
def test_it_follows_the_equations_cell_by_cell(choice: str, how: dict[str, object], seed: int) -> None:
    example = Example(3, 2, 4, 5, 3, seed, **how)
    with forced(choice):
        torch.testing.assert_close(
            example.run(*example.tensors), torch.stack(cell_by_cell(example)), rtol=0, atol=1e-12
        )


@on_every_width
@settings(max_examples=30, deadline=None)
@given(st.tuples(*(st.integers(1, most) for most in (25, 12, 9, 19, 13)), st.integers(0, 10**6)), options)
@example((5, 1, 7, 19, 1, 707495), {})  # a gradient with five times the rounding error of the reference
def test_the_kernel_equals_the_reference(width: str, size: tuple[int, ...], how: dict[str, object]) -> None:
    example = Example(*size, **how)
    assert_agrees(width, example.run, example.tensors)


@on_every_width
@settings(max_examples=8, deadline=None)
@given(st.tuples(*(st.integers(1, most) for most in (5, 2, 3, 4, 2)), st.integers(0, 10**6)), options)
def test_the_gradient_is_the_derivative(width: str, size: tuple[int, ...], how: dict[str, object]) -> None:
    example = Example(*size, **how)
    with forced(width):
        assert torch.autograd.gradcheck(example.run, [x.requires_grad_() for x in example.tensors])


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    example = Example(300, 5, 7, 9, 6, 1, offset=True)
    single = [x.float() for x in example.tensors]
    with forced(width):
        runs = []
        for n in (1, 2, 5):
            with threads(n):
                runs.append(result_and_gradients(example.run, single))
    assert same_bits(runs[0], runs[1])
    assert same_bits(runs[0], runs[2])


@on_reference_and_native
@pytest.mark.parametrize("reverse", [False, True])
def test_padding_is_never_read(choice: str, reverse: bool) -> None:
    example = Example(11, 3, 5, 6, 4, 7, offset=True, reverse=reverse)
    row, column = torch.arange(5), torch.arange(6)
    outside = (row >= example.left[:, None])[:, :, None, None] | (column >= example.right[:, None])[:, None, None, :]
    s, *weights, offset = example.tensors
    with_nan = s.masked_fill(outside, torch.nan)
    with_nan_offset = offset.masked_fill((row >= example.left[:, None])[:, None, :], torch.nan)
    with forced(choice):
        clean = result_and_gradients(example.run, example.tensors)
        dirty = result_and_gradients(example.run, [with_nan, *weights, with_nan_offset])
    assert same_bits(clean, dirty)


@on_every_width
def test_the_result_of_a_pair_does_not_depend_on_its_batch(width: str) -> None:
    example = Example(21, 4, 6, 8, 5, 3, least=1)
    tensors = [x.float() for x in example.tensors]
    weights = GruWeights(*tensors[1:])
    with forced(width):
        batch = example.run(*tensors)
        for b in range(21):
            m, n = example.left[b : b + 1], example.right[b : b + 1]
            s = tensors[0][b : b + 1, : int(m), :, : int(n)].permute(0, 2, 1, 3)
            assert torch.equal(batch[b : b + 1], spatial_gru(s, m, n, weights))


@on_every_width
def test_large_sums_saturate_and_nan_is_propagated(width: str) -> None:
    example = Example(9, 2, 3, 4, 3, 5, least=3)
    example.tensors[0] *= 1e4
    example.tensors[0][4, 0, 0, 0] = torch.nan
    with forced(width):
        kernel = example.run(*(x.float() for x in example.tensors))
    with forced("reference"):
        reference = example.run(*(x.float() for x in example.tensors))
    torch.testing.assert_close(kernel, reference, rtol=0, atol=1e-6, equal_nan=True)
    assert kernel[4].isnan().all()


@settings(max_examples=12, deadline=None)
@given(options, st.integers(0, 10**6))
def test_states_and_gates_of_every_cell_lead_to_the_last_state(how: dict[str, object], seed: int) -> None:
    example = Example(4, 2, 4, 5, 3, seed, least=1, **how)
    grid = example.states(*example.tensors)
    last = example.run(*example.tensors)
    for b in range(4):
        m, n = int(example.left[b]), int(example.right[b])
        at = (0, 0) if how["reverse"] else (m - 1, n - 1)
        torch.testing.assert_close(grid.states[b][at], last[b], rtol=0, atol=1e-12)
        torch.testing.assert_close(grid.update[b, :m, :n].sum(-2), torch.ones(m, n, 3, dtype=torch.float64))
        assert not grid.states[b, m:].any()
        assert not grid.update[b, :, n:].any()
    assert (grid.reset is None) == (not how["reset"])


@on_reference_and_native
def test_pairs_without_cells_and_empty_batches_are_valid(choice: str) -> None:
    example = Example(3, 2, 4, 5, 3, 0)
    weights = GruWeights(*example.tensors[1:])
    none = torch.zeros(3, dtype=torch.int64)
    s = example.tensors[0].permute(0, 2, 1, 3)
    with forced(choice):
        assert not spatial_gru(s, none, example.right, weights).any()
        assert not spatial_gru(s[:, :, :0], none, example.right, weights).any()
        assert spatial_gru(s[:0], none[:0], none[:0], weights).shape == (0, 3)


def test_invalid_arguments_raise_an_input_error() -> None:
    example = Example(3, 2, 4, 5, 3, 0)
    s, weights = example.tensors[0].permute(0, 2, 1, 3), GruWeights(*example.tensors[1:])
    with pytest.raises(
        InputError, match="gates has 20 rows and candidate 3: pass 21 rows of gates, 12 without reset gates, or 7 or 4"
    ):
        spatial_gru(s, example.left, example.right, weights._replace(gates=weights.gates[1:]))
    with pytest.raises(InputError, match=r"offset has shape \[3, 2, 5\]: pass an array of shape \[3, 2, 4\]"):
        spatial_gru(s, example.left, example.right, weights, offset=s[:, :, 0])
    with pytest.raises(InputError, match="activation 'sine' is not known"):
        spatial_gru(s, example.left, example.right, weights, activation="sine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="right_lengths has values from 0 to 9"):
        spatial_gru(s, example.left, torch.tensor([0, 9, 1]), weights)
