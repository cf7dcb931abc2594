"""Convolutions read a text and nothing behind its end."""

import pytest
import torch

from pairlight.layers.types import Seq
from pairlight.layers.convolution import Conv, WideConv

DIM, MAPS = 3, 4


def seq(lengths: list[int], poison: float = 0.0, extra: int = 0) -> Seq:
    """The same random texts whatever stands behind their ends."""
    draw = torch.Generator().manual_seed(3)
    x = torch.full((len(lengths), max(lengths) + extra, DIM), poison, dtype=torch.float64)
    mask = torch.zeros(x.shape[:2], dtype=torch.bool)
    for row, n in enumerate(lengths):
        x[row, :n] = torch.randn(n, DIM, generator=draw, dtype=torch.float64)
        mask[row, :n] = True
    return Seq(x, mask, torch.ones_like(mask, dtype=torch.int64))


def made(kind: type[Conv] | type[WideConv], width: int) -> Conv | WideConv:
    torch.manual_seed(0)
    return kind(DIM, MAPS, width).double()


kinds = pytest.mark.parametrize("kind", [Conv, WideConv])
widths = pytest.mark.parametrize("width", [1, 2, 3, 5])


@widths
def test_a_window_begins_at_every_word(width):
    conv, u = made(Conv, width), seq([5])
    W, b = conv.filters.weight, conv.filters.bias
    text = [*u.x[0], *[torch.zeros(DIM, dtype=torch.float64)] * (width - 1)]
    by_hand = [W @ torch.cat(text[t : t + width]) + b for t in range(5)]
    torch.testing.assert_close(conv(u).x[0], torch.stack(by_hand))


@widths
def test_wide_windows_are_all_that_touch_the_text(width):
    conv, u = made(WideConv, width), seq([5])
    W, b = conv.filters.weight, conv.filters.bias
    around = [torch.zeros(DIM, dtype=torch.float64)] * (width - 1)
    text = [*around, *u.x[0], *around]
    by_hand = [W @ torch.cat(text[t : t + width]) + b for t in range(5 + width - 1)]
    torch.testing.assert_close(conv(u).x[0], torch.stack(by_hand))


@widths
def test_lengths_are_n_and_for_the_wide_one_n_plus_m_minus_1(width):
    u = seq([5, 1, 3, 0])
    assert made(Conv, width)(u).lengths.tolist() == [5, 1, 3, 0]
    assert made(WideConv, width)(u).lengths.tolist() == [5 + width - 1, width, 3 + width - 1, 0]


@kinds
@widths
@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_what_stands_behind_the_end_is_not_read(kind, width, poison):
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
def test_places_are_no_words_any_more(kind):
    u = made(kind, 3)(seq([5, 2]))
    assert u.ids.shape == u.mask.shape
    assert not u.ids.any()
