"""uRAE: its autoencoder is trained without labels, reproducibly, and then fixed."""

import numpy as np
import torch

from models.toy import Case, corpus, ready, texts, tokens
from pairlight.data.pairs import Pairs
from pairlight.models import build
from pairlight.text.tokenizer import TokenizedTexts


def test_fitting_statistics_trains_the_autoencoder_and_then_fixes_it():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=60).double()
    torch.nn.init.normal_(model.embed.embedding.weight, 0, 0.4)
    u = model.embed.embedding(tokens(model, texts(40, seed=5, shortest=2)))
    before = model.encode.reconstruction_error(u).item()
    model.fit_statistics(*corpus(model))
    assert model.encode.reconstruction_error(u).item() < 0.8 * before
    assert not any(weight.requires_grad for weight in model.encode.buffers())


def test_one_word_texts_do_not_change_the_autoencoder():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=3)
    before = model.encode.encoder_weight.clone()
    tokenized = TokenizedTexts(np.arange(2, 6, dtype=np.int32), np.arange(5), 0)
    side = np.arange(4, dtype=np.int32)
    model.fit_statistics(tokenized, Pairs(["a", "b", "c", "d"], side, side[::-1].copy(), side))
    assert torch.equal(model.encode.encoder_weight, before)
    assert float(model.std) > 0


def test_training_the_autoencoder_twice_gives_equal_weights():
    a, b = (ready(Case("urae", {"steps": 3, "dim": 6})) for _ in range(2))
    assert all(torch.equal(x, y) for x, y in zip(a.buffers(), b.buffers(), strict=True))


def test_the_grids_of_the_training_pairs_have_the_stored_mean_and_standard_deviation():
    torch.manual_seed(0)
    model = build("urae", 30, dim=6, steps=1).double()
    tokenized, pairs = corpus(model)
    model.fit_statistics(tokenized, pairs)
    every = [tokenized.ids[tokenized.start[t] : tokenized.start[t + 1]].tolist() for t in range(len(tokenized))]
    left, right = ([every[t] for t in side] for side in (pairs.left, pairs.right))
    grids = model.pooled(model.encode_left(tokens(model, left)), model.encode_right(tokens(model, right)))
    torch.testing.assert_close(grids.mean(), model.mean)
    torch.testing.assert_close(grids.std(), model.std)


def test_a_parse_replaces_the_greedy_tree():
    model = ready(Case("urae", {"steps": 1, "dim": 6}))
    u = model.embed.embedding(tokens(model, [[2, 3, 4], [5, 6, 7]]))
    greedy = model.encode.greedy_joins(u)
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
    first = model.encode.encode(torch.cat([b, c] if other[0, 0] else [a, b]))
    root = model.encode.encode(torch.cat([a, first] if other[0, 0] else [first, c]))
    torch.testing.assert_close(changed[0, -1], root)
