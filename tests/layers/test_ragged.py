"""Texts stored without padding come back as the batches that were stored."""

import torch

from layers.toy import seq
from pairlight.layers.ragged import Ragged
from pairlight.layers.types import Seq


def sequences() -> list[Seq]:
    return [seq([3, 1], extra=1, seed=0), seq([2, 4, 2], seed=1)]


def test_texts_come_back_in_any_order_padded_with_zeros():
    batches = sequences()
    ragged = Ragged.of(batches)
    assert ragged.lengths.tolist() == [3, 1, 2, 4, 2]
    u = ragged.pad(torch.tensor([3, 1, 0]))
    assert u.lengths.tolist() == [4, 1, 3]
    assert torch.equal(u.x[0], batches[1].x[1])
    assert torch.equal(u.x[1, :1], batches[0].x[1, :1])
    assert torch.equal(u.x[2, :3], batches[0].x[0, :3])
    assert not u.x[~u.mask].any()


def test_single_vectors_come_back_as_they_are():
    x = torch.arange(12.0).view(4, 3)
    ragged = Ragged.of([x[:1], x[1:]])
    assert torch.equal(ragged.pad(torch.tensor([2, 0])), x[[2, 0]])
    assert torch.equal(ragged.all(), x)


def test_all_texts_of_one_length_are_returned_without_a_copy():
    ragged = Ragged.of([seq([2, 2], seed=0), seq([2], seed=1)])
    u = ragged.all()
    assert u.x.shape == (3, 2, 3)
    assert u.x.data_ptr() == ragged.x.data_ptr()
    assert u.mask.all()


def test_all_texts_of_different_lengths_are_padded():
    u = Ragged.of(sequences()).all()
    assert u.lengths.tolist() == [3, 1, 2, 4, 2]


def test_rows_can_be_stored_in_the_order_of_the_texts():
    ragged = Ragged.of(sequences())
    order, every = torch.tensor([4, 0, 3, 1, 2]), torch.arange(5)
    shuffled = Ragged(ragged.x, ragged.ids, ragged.start[order], ragged.lengths[order])
    in_order = shuffled.in_order()
    assert in_order.start.tolist() == [0, 2, 5, 9, 10]
    assert torch.equal(in_order.pad(every).x, ragged.pad(order).x)
