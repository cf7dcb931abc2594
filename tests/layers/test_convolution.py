"""One-dimensional convolutions equal their formula and never read padding."""

import pytest
import torch

from layers.toy import DIM, seq
from pairlight.layers.convolution import Conv, WideConv

MAPS = 4


def made(kind: type[Conv] | type[WideConv], width: int) -> Conv | WideConv:
    torch.manual_seed(0)
    return kind(DIM, MAPS, width).double()


kinds = pytest.mark.parametrize("kind", [Conv, WideConv])
widths = pytest.mark.parametrize("width", [1, 2, 3, 5])


@widths
def test_a_window_starts_at_every_word(width):
    conv, u = made(Conv, width), seq([5])
    W, b = conv.filters.weight, conv.filters.bias
    text = [*u.x[0], *[torch.zeros(DIM, dtype=torch.float64)] * (width - 1)]
    expected = [W @ torch.cat(text[t : t + width]) + b for t in range(5)]
    torch.testing.assert_close(conv(u).x[0], torch.stack(expected))


@widths
def test_wide_windows_are_all_that_overlap_the_text(width):
    conv, u = made(WideConv, width), seq([5])
    W, b = conv.filters.weight, conv.filters.bias
    zeros = [torch.zeros(DIM, dtype=torch.float64)] * (width - 1)
    text = [*zeros, *u.x[0], *zeros]
    expected = [W @ torch.cat(text[t : t + width]) + b for t in range(5 + width - 1)]
    torch.testing.assert_close(conv(u).x[0], torch.stack(expected))


@widths
def test_output_lengths_are_n_and_for_wide_windows_n_plus_m_minus_1(width):
    u = seq([5, 1, 3, 0])
    assert made(Conv, width)(u).lengths.tolist() == [5, 1, 3, 0]
    assert made(WideConv, width)(u).lengths.tolist() == [5 + width - 1, width, 3 + width - 1, 0]


@kinds
@widths
@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_padding_is_never_read(kind, width, poison):
    conv, lengths = made(kind, width), [5, 1, 3, 0]
    clean, poisoned = conv(seq(lengths)), conv(seq(lengths, poison, extra=4))
    L = clean.x.shape[1]
    assert torch.equal(poisoned.x[:, :L], clean.x)
    assert torch.equal(poisoned.mask[:, :L], clean.mask)
    assert not poisoned.x[:, L:].any()
    assert not poisoned.mask[:, L:].any()
    poisoned.x.sum().backward()
    assert conv.filters.weight.grad.isfinite().all()


@kinds
def test_output_positions_have_no_word_ids(kind):
    u = made(kind, 3)(seq([5, 2]))
    assert u.ids.shape == u.mask.shape
    assert not u.ids.any()
