"""uRAE's first stage: trained without labels, the same way twice, and fixed from then on."""

import numpy as np
import torch

from models.toy import Case, corpus, ready, texts, tokens
from pairlight.data.pairs import Pairs
from pairlight.models import build
from pairlight.text.tokenizer import TokenizedTexts


def test_the_first_stage_makes_the_autoencoder_better_and_then_fixes_it():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=60).double()
    torch.nn.init.normal_(model.embed.embedding.weight, 0, 0.4)
    u = model.words.embed(tokens(model, texts(40, seed=5, shortest=2)))
    before = model.encode.error(u).item()
    model.fit_statistics(*corpus(model))
    assert model.encode.error(u).item() < 0.8 * before
    assert not any(weight.requires_grad for weight in model.encode.buffers())


def test_texts_of_one_word_leave_the_autoencoder_as_it_is():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=3)
    was = model.encode.weight.clone()
    encoded = TokenizedTexts(np.arange(2, 6, dtype=np.int32), np.arange(5), 0)
    side = np.arange(4, dtype=np.int32)
    model.fit_statistics(encoded, Pairs(["a", "b", "c", "d"], side, side[::-1].copy(), side))
    assert torch.equal(model.encode.weight, was)
    assert float(model.spread) > 0


def test_the_first_stage_is_repeatable():
    a, b = (ready(Case("urae", {"steps": 3, "dim": 6})) for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(a.buffers(), b.buffers(), strict=True))


def test_the_cells_of_training_pairs_have_the_mean_and_spread_that_are_kept():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=1).double()
    encoded, pairs = corpus(model)
    model.fit_statistics(encoded, pairs)
    every = [encoded.ids[encoded.start[t] : encoded.start[t + 1]].tolist() for t in range(len(encoded))]
    left, right = ([every[t] for t in side] for side in (pairs.left, pairs.right))
    cells = model.pooled(model.left(tokens(model, left)), model.right(tokens(model, right)))
    torch.testing.assert_close(cells.mean(), model.mean)
    torch.testing.assert_close(cells.std(), model.spread)


def test_a_parse_goes_before_the_greedy_tree():
    model = ready(Case("urae", {"steps": 1, "dim": 6}))
    read = tokens(model, [[2, 3, 4], [5, 6, 7]])
    u = model.words.embed(read)
    greedy = model.encode.joins(u)
    none = torch.full((2, 3), -1)

    def nodes(parse):
        return model.encode(u, parse).x

    torch.testing.assert_close(nodes(none), nodes(None))
    torch.testing.assert_close(nodes(torch.cat([greedy, none[:, :1]], 1)), nodes(None))
    other = torch.tensor([[1 - int(greedy[0, 0]), 0, -1], [-1, -1, -1]])
    changed = nodes(other)
    assert not torch.allclose(changed[0], nodes(None)[0])
    torch.testing.assert_close(changed[1], nodes(None)[1])
    a, b, c = u.x[0]
    first = model.encode.join(torch.cat([b, c] if other[0, 0] else [a, b]))
    root = model.encode.join(torch.cat([a, first] if other[0, 0] else [first, c]))
    torch.testing.assert_close(changed[0, -1], root)
