"""Updating only the rows of a batch equals updating the whole table."""

import numpy as np
import pytest
import torch

from pairlight.layers.basic import Linear
from pairlight.layers.embedding import Embedding
from pairlight.layers.types import Tokens
from pairlight.training import loop
from pairlight.training.adagrad import RowAdagrad
from training.test_loop import trained, weights

VOCAB, DIM = 60, 5


def table(sparse: bool, optimizer: type[torch.optim.Optimizer], steps: int = 6) -> torch.Tensor:
    torch.manual_seed(0)
    embed, weigh = Embedding(VOCAB, DIM), Linear(DIM, 1)
    embed.sparse = sparse
    step = optimizer([*embed.parameters(), *weigh.parameters()], lr=0.3, eps=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        left, right = (torch.from_numpy(rng.integers(1, VOCAB // 2, (4, 7))) for _ in range(2))
        mask = torch.arange(7) < torch.from_numpy(rng.integers(1, 8, 4))[:, None]
        step.zero_grad(set_to_none=True)
        u, v = embed(Tokens(left, mask)), embed(Tokens(right, mask))
        assert (u.x[~mask] == 0).all()
        weigh((u.x * v.x).tanh()).sum().backward()
        assert embed.weight.grad.is_sparse == sparse
        step.step()
    return embed.weight.detach()


def test_rows_change_as_in_the_dense_update():
    dense = table(sparse=False, optimizer=torch.optim.Adagrad)
    torch.testing.assert_close(table(sparse=True, optimizer=RowAdagrad), dense, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(table(sparse=False, optimizer=RowAdagrad), dense, rtol=0, atol=0)
    start = table(sparse=True, optimizer=RowAdagrad, steps=0)
    assert (dense[0] == 0).all()
    assert torch.equal(dense[VOCAB // 2 :], start[VOCAB // 2 :])
    assert not torch.equal(dense[: VOCAB // 2], start[: VOCAB // 2])


def test_a_model_trained_on_rows_ends_as_one_trained_on_whole_tables(pairs, monkeypatch):
    options = {"lr": 0.1, "epsilon": 0.1}  # a tiny epsilon would turn differences in rounding into steps of full size
    rows = trained(pairs, **options)
    assert rows.history.best_epoch > 0
    assert rows.scorer.model.embed.embedding.sparse

    def whole(model, scale, options, fused):
        optimizer = real(model, scale, options, fused)
        model.embed.embedding.sparse = False
        return optimizer

    real = loop._optimizer
    monkeypatch.setattr(loop, "_optimizer", whole)
    dense = trained(pairs, **options)
    assert not dense.scorer.model.embed.embedding.sparse
    for one, two in zip(weights(rows).values(), weights(dense).values(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("changes", [{"optimizer": "adam"}, {"weight_decay": 0.1}, {"max_grad_norm": 1.0}])
def test_updates_of_every_row_use_dense_gradients(pairs, changes):
    assert not trained(pairs, epochs=1, **changes).scorer.model.embed.embedding.sparse
