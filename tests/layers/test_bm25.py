"""The BM25 layer equals its formula, ignores padding, and adds up the scores of single words."""

import numpy as np
import pytest
import torch

from pairlight import Matcher
from pairlight.layers.bm25 import BM25Score
from pairlight.layers.types import Tokens
from pairlight.text.tokenizer import TokenizedTexts

VOCAB = 6


def tokens(texts: list[list[int]], extra: int = 0, junk: int = 0) -> Tokens:
    width = max(map(len, texts)) + extra
    ids = torch.tensor([[*text, *[junk] * (width - len(text))] for text in texts])
    return Tokens(ids, torch.arange(width) < torch.tensor([len(text) for text in texts])[:, None])


@pytest.fixture
def score() -> BM25Score:
    layer = BM25Score(VOCAB, 1.2, 0.75)
    layer.load_state_dict({"idf": np.arange(1.0, VOCAB + 2), "average_length": np.float64(2.5)})
    return layer


LEFT, RIGHT = [[2, 3, 2], [9, 4]], [[3, 2, 2, 5], [9]]


def test_the_score_equals_its_formula(score):
    saturation = [1.2 * (0.25 + 0.75 * n / 2.5) for n in (4, 1)]
    first = 3 * 2 / (2 + saturation[0]) * 2 + 4 * 1 / (1 + saturation[0])
    second = 7 * 1 / (1 + saturation[1])  # an out-of-vocabulary word has the last idf
    torch.testing.assert_close(score(tokens(LEFT), tokens(RIGHT)), torch.tensor([first, second]))


def test_the_scores_of_the_words_add_up_to_the_score(score):
    left, right = tokens(LEFT, extra=1), tokens(RIGHT)
    words = score.term_scores(left, right)
    torch.testing.assert_close(words.sum(1), score(left, right))
    assert (words[~left.mask] == 0).all()


@pytest.mark.parametrize("junk", [2, 9])
def test_ids_under_padding_are_ignored(score, junk):
    padded = score(tokens(LEFT, extra=2, junk=junk), tokens(RIGHT, extra=3, junk=junk))
    torch.testing.assert_close(padded, score(tokens(LEFT), tokens(RIGHT)))


def test_one_left_text_may_be_paired_with_several_right_texts(score):
    torch.testing.assert_close(
        score(tokens(LEFT), tokens([*RIGHT, *RIGHT])), score(tokens([*LEFT, *LEFT]), tokens([*RIGHT, *RIGHT]))
    )


def test_the_index_gives_the_scores_of_all_pairs(score):
    g = np.random.default_rng(0)
    texts = [g.integers(0, VOCAB + 4, n) for n in g.integers(1, 20, 30)]
    tokenized = TokenizedTexts(
        np.concatenate(texts).astype(np.int32), np.concatenate([[0], np.cumsum([len(text) for text in texts])]), 0
    )
    left, right = g.integers(0, 4, 200), g.integers(3, 30, 200)
    left_texts, right_texts = ([texts[i].tolist() for i in side] for side in (left, right))
    expected = score(tokens(left_texts), tokens(right_texts))
    found = score.index_scores(tokenized, left, right)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-6, atol=1e-6)
    assert score.index_scores(tokenized, left[:0], right[:0]).shape == (0,)


def test_ranking_uses_the_index_and_pairs_of_distinct_texts_do_not(pairs, monkeypatch):
    matcher = Matcher("bm25").fit(pairs, pairs, progress=False)
    calls = []
    index_scores = BM25Score.index_scores
    monkeypatch.setattr(BM25Score, "index_scores", lambda *given: calls.append(given) or index_scores(*given))
    texts = [f"bama dama {i}" for i in range(40)]
    ranked = matcher.rank("bama 7", texts)
    assert ranked[0]["corpus_id"] == 7
    assert len(calls) == 1
    alone = [float(matcher.predict([("bama 7", texts[each["corpus_id"]])])[0]) for each in ranked]
    np.testing.assert_allclose([each["score"] for each in ranked], alone, rtol=1e-6)
    calls.clear()
    matcher.predict([(f"left {i}", text) for i, text in enumerate(texts)])
    assert not calls
