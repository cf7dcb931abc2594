"""The PyTorch functions lstm and bilstm, with the native kernel and with their reference implementation."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

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
from pairlight.kernels.autograd.lstm import bilstm, lstm, lstm_of_rows

sizes = st.tuples(*(st.integers(1, most) for most in (37, 12, 21, 21)), st.integers(0, 10**6))


def example(B: int, L: int, E: int, H: int, seed: int, least: int = 0) -> tuple[Tensor, list[Tensor]]:
    """Lengths, and x with the weights of both directions."""
    g = torch.Generator().manual_seed(seed)
    shapes = [(B, L, E), (4 * H, E + H), (4 * H,), (4 * H, E + H), (4 * H,)]
    scales = [1.0, *4 * [(E + H) ** -0.5]]
    tensors = [
        scale * torch.randn(shape, generator=g, dtype=torch.float64)
        for scale, shape in zip(scales, shapes, strict=True)
    ]
    return torch.randint(least, L + 1, (B,), generator=g), tensors


@on_every_width
@settings(max_examples=25, deadline=None)
@given(sizes)
def test_in_both_directions_the_kernel_equals_the_reference(width: str, size: tuple[int, int, int, int, int]) -> None:
    lengths, tensors = example(*size)
    assert_agrees(width, lambda x, *weights: bilstm(x, lengths, *weights), tensors)


@on_every_width
@pytest.mark.parametrize("reverse", [False, True])
def test_in_one_direction_the_kernel_equals_the_reference(width: str, reverse: bool) -> None:
    lengths, (x, weight, bias, *_) = example(19, 9, 13, 7, 3)
    assert_agrees(width, lambda x, w, b: lstm(x, lengths, w, b, reverse=reverse), [x, weight, bias])


@on_reference_and_native
@pytest.mark.parametrize("gradients", [False, True])
def test_words_that_are_rows_have_the_states_of_their_vectors(choice: str, gradients: bool) -> None:
    lengths, (x, *weights) = example(19, 9, 13, 7, 3)
    words, rows = x[:, 0], torch.randint(0, 19, (19, 9), generator=torch.Generator().manual_seed(3))
    directions = [(weights[0], weights[1], False), (weights[2], weights[3], True)]
    with forced(choice), torch.set_grad_enabled(gradients):
        found = lstm_of_rows(words, rows, lengths, directions)
        torch.testing.assert_close(found, bilstm(words[rows], lengths, *weights), rtol=0, atol=1e-12)


@on_every_width
@settings(max_examples=6, deadline=None)
@given(st.tuples(*(st.integers(1, most) for most in (6, 4, 3, 3)), st.integers(0, 10**6)))
def test_the_gradient_is_the_derivative(width: str, size: tuple[int, int, int, int, int]) -> None:
    lengths, tensors = example(*size)
    leaves = [x.requires_grad_() for x in tensors]
    with forced(width):
        assert torch.autograd.gradcheck(lambda x, *weights: bilstm(x, lengths, *weights), leaves)


@on_reference_and_native
def test_it_is_the_lstm_of_pytorch_over_packed_texts(choice: str) -> None:
    lengths, (x, *_) = example(11, 7, 5, 6, 1, least=1)
    reference = nn.LSTM(5, 6, bidirectional=True, batch_first=True).double()
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected = nn.utils.rnn.pad_packed_sequence(reference(packed)[0], batch_first=True, total_length=7)[0]
    weights = []
    for end in ("", "_reverse"):
        ih, hh, b, c = (
            getattr(reference, f"{name}_l0{end}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        weights += [torch.cat([ih, hh], 1), b + c]
    with forced(choice):
        torch.testing.assert_close(bilstm(x, lengths, *weights), expected, rtol=0, atol=1e-12)


@on_every_width
def test_gradients_of_the_weights_do_not_depend_on_whether_the_words_need_one(width: str) -> None:
    lengths, (x, *weights) = example(19, 9, 13, 7, 8)
    with forced(width):
        whole = result_and_gradients(lambda x, *w: bilstm(x, lengths, *w), [x, *weights])
        fixed = result_and_gradients(lambda *w: bilstm(x, lengths, *w), weights)
    assert same_bits([whole[0], *whole[2:]], fixed)


@on_every_width
def test_the_number_of_threads_does_not_change_the_result(width: str) -> None:
    lengths, tensors = example(150, 12, 9, 11, 5)
    single = [x.float() for x in tensors]
    with forced(width):
        runs = []
        for n in (1, 2, 5):
            with threads(n):
                runs.append(result_and_gradients(lambda x, *w: bilstm(x, lengths, *w), single))
    assert same_bits(runs[0], runs[1])
    assert same_bits(runs[0], runs[2])


@on_reference_and_native
def test_padding_is_never_read(choice: str) -> None:
    lengths, tensors = example(13, 6, 5, 4, 9)
    with_nan = tensors[0].clone()
    with_nan[torch.arange(6) >= lengths[:, None]] = torch.nan
    with forced(choice):
        clean = result_and_gradients(lambda x, *w: bilstm(x, lengths, *w), tensors)
        dirty = result_and_gradients(lambda x, *w: bilstm(x, lengths, *w), [with_nan, *tensors[1:]])
    assert same_bits(clean, dirty)
    assert not clean[0][torch.arange(6) >= lengths[:, None]].any()


@on_every_width
def test_the_result_of_a_text_does_not_depend_on_its_batch(width: str) -> None:
    lengths, tensors = example(21, 8, 5, 7, 2, least=1)
    x, *weights = (t.float() for t in tensors)
    with forced(width):
        batch = bilstm(x, lengths, *weights)
        for b, n in enumerate(lengths.tolist()):
            assert torch.equal(batch[b, :n], bilstm(x[b : b + 1, :n], lengths[b : b + 1], *weights)[0])


@on_every_width
def test_nan_is_propagated_within_its_text_only(width: str) -> None:
    lengths, (x, *weights) = example(9, 5, 3, 4, 4, least=1)
    x[2, 0, 1] = torch.nan
    with forced(width):
        h = bilstm(x.float(), lengths, *(w.float() for w in weights))
    assert h[2, 0].isnan().all()
    assert not h[[0, 1, 3, 4, 5, 6, 7, 8]].isnan().any()


@on_every_width
def test_strides_do_not_change_the_result(width: str) -> None:
    lengths, (x, *weights) = example(9, 5, 3, 4, 4)
    strided = torch.stack([x, x + 1], -1)[..., 0]
    with forced(width):
        assert torch.equal(bilstm(strided, lengths, *weights), bilstm(x, lengths, *weights))


@on_reference_and_native
def test_an_empty_batch_has_an_empty_result(choice: str) -> None:
    lengths, (x, *weights) = example(3, 5, 3, 4, 4)
    with forced(choice):
        assert bilstm(x[:0], lengths[:0], *weights).shape == (0, 5, 8)


def test_invalid_arguments_raise_an_input_error() -> None:
    lengths, (x, *weights) = example(3, 5, 3, 4, 4)
    with pytest.raises(InputError, match=r"weight has shape \[16, 6\]: pass an array of shape \[16, 7\]"):
        bilstm(x, lengths, weights[0][:, 1:], *weights[1:])
    with pytest.raises(InputError, match="lengths has values from 1 to 6: pass lengths from 0 to 5"):
        bilstm(x, torch.tensor([1, 6, 2]), *weights)
    with pytest.raises(InputError, match="convert both to the same dtype"):
        bilstm(x.float(), lengths, *weights)
    with pytest.raises(InputError, match="x has 2 dimensions"):
        bilstm(x[0], lengths, *weights)
