"""k-max pooling keeps the largest values of a text in their order, and never reads padding."""

import pytest
import torch

from layers.toy import seq
from pairlight.layers.kmax_pool import dynamic_k, dynamic_kmax_pool, kmax_pool
from pairlight.layers.types import Seq


def one(values: list[float]) -> Seq:
    x = torch.tensor(values, dtype=torch.float64)[None, :, None]
    mask = torch.ones(x.shape[:2], dtype=torch.bool)
    return Seq(x, mask, mask.long())


def kept(values: list[float], k: int) -> list[float]:
    return kmax_pool(one(values), torch.tensor([k])).x[0, :, 0].tolist()


def test_the_largest_values_stay_in_their_order():
    assert kept([1, 5, -2, 4, 3], 3) == [5, 4, 3]
    assert kept([-1, -5, -2], 2) == [-1, -2]


def test_of_equal_values_the_earlier_is_kept():
    assert kept([1, 2, 1], 2) == [1, 2]
    assert kept([0, 3, 0, 0, 4, 0], 4) == [0, 3, 0, 4]
    many = torch.randint(4, (300,), generator=torch.Generator().manual_seed(0)).tolist()
    best = sorted(sorted(range(300), key=lambda t: -many[t])[:100])
    assert kept(many, 100) == [many[t] for t in best]


def test_a_short_text_keeps_all_values_and_the_rest_is_masked():
    u = kmax_pool(one([-3, -1]), torch.tensor([4]))
    assert u.x[0, :, 0].tolist() == [-3, -1, 0, 0]
    assert u.mask.tolist() == [[True, True, False, False]]
    assert not u.ids.any()


@pytest.mark.parametrize("poison", [1e3, float("nan")])
def test_each_text_has_its_own_k_and_padding_is_never_kept(poison):
    lengths, k = [6, 1, 3, 0, 4], torch.tensor([2, 3, 2, 2, 4])
    clean, poisoned = kmax_pool(seq(lengths), k), kmax_pool(seq(lengths, poison, extra=5), k)
    assert clean.lengths.tolist() == [2, 1, 2, 0, 4]
    assert clean.x.shape[1] == 4
    assert torch.equal(poisoned.x, clean.x)
    assert torch.equal(poisoned.mask, clean.mask)


def test_every_feature_is_pooled_separately():
    lengths = [6, 1, 3, 0, 4]
    u, k = seq(lengths, float("nan"), extra=2), [3, 2, 5, 1, 2]
    got = kmax_pool(u, torch.tensor(k))
    for row, n in enumerate(lengths):
        for d in range(u.x.shape[2]):
            values = u.x[row, :n, d].tolist()
            best = sorted(sorted(range(n), key=lambda t, v=values: -v[t])[: k[row]])
            assert got.x[row, :, d].tolist() == [values[t] for t in best] + [0.0] * (5 - len(best))


def test_only_the_kept_values_get_a_gradient():
    u = seq([4, 2], float("nan"), extra=2)
    u.x.requires_grad_()
    kmax_pool(u, torch.tensor([2, 3])).x.sum().backward()
    assert u.x.grad.sum(1).tolist() == [[2.0] * 3, [2.0] * 3]


@pytest.mark.parametrize(
    ("n", "layers", "expected"),
    [(5, 3, [4, 4, 1]), (10, 3, [7, 4, 1]), (50, 3, [34, 17, 1]), (10, 2, [5, 1]), (50, 2, [25, 1])],
)
def test_dynamic_k_decreases_from_layer_to_layer(n, layers, expected):
    ks = [int(dynamic_k(torch.tensor([n]), layer, layers, 4, 1)) for layer in range(1, layers + 1)]
    assert ks == expected


def test_dynamic_pooling_depends_on_the_original_lengths():
    u = seq([12, 9])
    assert dynamic_kmax_pool(u, torch.tensor([10, 7]), 1, 2, 3, 1).lengths.tolist() == [5, 4]
    assert dynamic_kmax_pool(u, torch.tensor([10, 7]), 2, 2, 3, 2).lengths.tolist() == [2, 2]
