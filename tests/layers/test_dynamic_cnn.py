"""The dynamic CNN never reads padding, and a text in a batch equals the text alone."""

import pytest
import torch

from layers.toy import DIM, seq
from pairlight.layers.dynamic_cnn import DynamicCNN

LENGTHS = [5, 1, 3, 0, 12]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_padding_is_never_read(poison, bias):
    torch.manual_seed(0)
    cnn = DynamicCNN(DIM, 4, 3, 3, least=3, top=2, bias=bias).double()
    got = cnn(seq(LENGTHS, poison, extra=4))
    torch.testing.assert_close(got, cnn(seq(LENGTHS)))
    assert got.shape == (5, cnn.features)
    assert not got[3].any()  # the empty text, whatever the bias
    got.sum().backward()
    assert all(p.grad.isfinite().all() for p in cnn.parameters())


def test_a_text_alone_equals_the_text_in_a_batch():
    torch.manual_seed(0)
    cnn, u = DynamicCNN(DIM, 4, 3, 2, least=2, top=2).double(), seq(LENGTHS)
    for row, n in enumerate(LENGTHS):
        if n:
            alone = type(u)(u.x[row : row + 1, :n], u.mask[row : row + 1, :n], u.ids[row : row + 1, :n])
            torch.testing.assert_close(cnn(alone)[0], cnn(u)[row])
