"""The PyTorch function token_matches, with the native kernel and with its reference implementation."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.forcing import WIDTHS, forced
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.token_matches import token_matches

sizes = st.tuples(*(st.integers(1, most) for most in (3, 3, 20, 40)))  # lefts, times, L, R


@pytest.mark.parametrize("choice", ["reference", *WIDTHS])
@settings(max_examples=30, deadline=None)
@given(sizes, st.integers(0, 10**6), st.sampled_from([torch.int32, torch.int64]))
def test_the_counts_are_those_of_lists(choice, size, seed, dtype):
    B, times, L, R = size
    g = torch.Generator().manual_seed(seed)
    left_ids, right_ids = (torch.randint(-3, 4, s, generator=g, dtype=dtype) for s in ((B, L), (B * times, R)))
    left = torch.randint(0, L + 1, (B,), generator=g)
    right = torch.randint(0, R + 1, (B * times,), generator=g)
    with forced(choice):
        counts = token_matches(left_ids, right_ids, left, right)
    assert [x.dtype for x in counts] == [torch.float32] * 2
    for pair in range(B * times):
        a = left_ids[pair % B, : left[pair % B]].tolist()
        b = right_ids[pair, : right[pair]].tolist()
        assert counts[0][pair].tolist() == [b.count(x) for x in a] + [0] * (L - len(a))
        assert counts[1][pair].tolist() == [a.count(x) for x in b] + [0] * (R - len(b))


def test_invalid_arguments_raise_an_input_error():
    ids, one = torch.zeros(1, 2, dtype=torch.int64), torch.tensor([1])
    with pytest.raises(InputError, match="There are 3 right texts for 2 left texts"):
        token_matches(ids.repeat(2, 1), ids.repeat(3, 1), one, one)
    with pytest.raises(InputError, match=r"right_ids has dtype torch\.float32: pass integers"):
        token_matches(ids, ids.float(), one, one)
