"""uRAE's first stage: trained without labels, the same way twice, and fixed from then on."""

import torch

from models.toy import Case, corpus, ready, texts, tokens
from pairlight.models import build


def test_the_first_stage_makes_the_autoencoder_better_and_then_fixes_it():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=60).double()
    torch.nn.init.normal_(model.words.embed.table.weight, 0, 0.4)
    u = model.words.embed(tokens(model, texts(40, seed=5, shortest=2)))
    before = model.encode.error(u).item()
    model.prepare(*corpus(model))
    assert model.encode.error(u).item() < 0.8 * before
    assert not any(weight.requires_grad for weight in model.encode.buffers())


def test_the_first_stage_is_repeatable():
    a, b = (ready(Case("urae", {"steps": 3, "dim": 6})) for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(a.buffers(), b.buffers(), strict=True))


def test_the_cells_of_training_pairs_have_the_mean_and_spread_that_are_kept():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=1).double()
    encoded, pairs = corpus(model)
    model.prepare(encoded, pairs)
    every = [encoded.ids[encoded.start[t] : encoded.start[t + 1]].tolist() for t in range(len(encoded))]
    left, right = ([every[t] for t in side] for side in (pairs.left, pairs.right))
    cells = model.pooled(tokens(model, left), tokens(model, right))
    torch.testing.assert_close(cells.mean(), model.mean)
    torch.testing.assert_close(cells.std(), model.spread)
