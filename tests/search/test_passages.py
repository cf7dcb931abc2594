"""Long texts are scored by their best window."""

import numpy as np
import pytest

from pairlight import Document
from pairlight.inference.windows import MAX_WINDOWS, Window, passages_of
from pairlight.search import passages
from toy_pairs import overlap

FILLER = "and then nothing of note happened on that day in the village "
ANSWER = "the tracking page shows where your parcel is."


def score_passages(scorer, query, texts):
    return passages.score_passages(scorer, query, [Document(str(i), text) for i, text in enumerate(texts)])


def passage_of(scorer, text, start, end):
    return passages_of(scorer, [text], [Window(0, start, end, False)])[0]


def are_whole(found):
    return [each.is_whole for each in found.windows]


def test_short_texts_have_the_scores_of_predict(matcher):
    texts = ["the tracking page shows where your delivery is", "we are open", "a"]
    found = score_passages(matcher.scorer, "where is my parcel", texts)
    expected = matcher.predict([("where is my parcel", text) for text in texts])
    assert found.scores == pytest.approx(expected, abs=1e-5)
    assert are_whole(found) == [True] * 3


@pytest.mark.parametrize("at", [0, 5, 12])
def test_the_best_window_of_a_long_text_is_found_wherever_it_is(matcher, at):
    parts = [FILLER] * 12
    parts.insert(at, ANSWER)
    text = " ".join(parts)
    found = score_passages(matcher.scorer, "where is my parcel", ["we are open", text])
    assert are_whole(found) == [True, False]
    passage = passage_of(matcher.scorer, text, found.windows[1].start, found.windows[1].end)
    assert "tracking page" in passage.text
    assert text[passage.start : passage.end] == passage.text
    filler_only = score_passages(matcher.scorer, "where is my parcel", [FILLER * 12]).scores[0]
    assert found.scores[1] > filler_only


def test_the_score_is_the_highest_of_all_windows(matcher):
    scorer, text = matcher.scorer, " ".join([FILLER] * 6 + [ANSWER] + [FILLER] * 6)
    ids = scorer.tokenizer.tokenize([text], 10_000).ids
    size, step = scorer.max_length, scorer.max_length // 2
    starts = sorted({*range(0, len(ids) - size, step), len(ids) - size})
    windows = [passage_of(scorer, text, start, start + size).text for start in starts]
    alone = matcher.predict([("where is my parcel", window) for window in windows])
    found = score_passages(scorer, "where is my parcel", [text])
    assert found.scores[0] == pytest.approx(alone.max(), abs=0.05)  # a window alone can have other subwords at its ends
    assert found.windows[0].start == starts[int(np.argmax(alone))]


def test_the_cost_of_a_very_long_text_has_a_bound(matcher):
    found = score_passages(matcher.scorer, "where is my parcel", [FILLER * 2000])
    assert found.windows[0].end <= (MAX_WINDOWS + 1) * matcher.scorer.max_length


def test_only_the_beginning_of_a_very_long_text_is_tokenized_for_its_passage(matcher, monkeypatch):
    text, read = FILLER * 2000, []
    tokens = type(matcher.scorer.tokenizer).tokens
    expected = passage_of(matcher.scorer, text, 100, 164)
    monkeypatch.setattr(
        type(matcher.scorer.tokenizer), "tokens", lambda self, t: read.append(len(t)) or tokens(self, t)
    )
    assert passage_of(matcher.scorer, text, 100, 164) == expected
    assert expected.text == text[expected.start : expected.end]
    assert sum(read) < 10_000 < len(text)
    assert passage_of(matcher.scorer, "x" * 3000 + " end", 0, 3) == passage_of(matcher.scorer, "x" * 3000, 0, 3)


def test_a_model_of_parse_trees_reads_long_texts_too():
    from pairlight import Matcher

    matcher = Matcher("urae", dim=6).fit(overlap(6, seed=0), vectors="none", epochs=1, max_length=8, progress=False)
    text = "(((bama delo) (firi godu)) (kusi bama))"
    found = score_passages(matcher.scorer, "bama delo", [text, " ".join([text] * 5)])
    assert found.scores[0] == pytest.approx(matcher.predict([("bama delo", text)])[0], abs=1e-5)
    assert are_whole(found) == [True, False]
    assert np.isfinite(found.scores).all()


def test_words_of_other_models_are_windows_too(pairs):
    from pairlight import Matcher

    matcher = Matcher("mv-lstm", hidden=4, k=3, dim=6)
    matcher.fit(pairs, vectors="none", epochs=1, max_length=8, progress=False)
    text = "bama delo firi godu kusi " * 10
    found = score_passages(matcher.scorer, "bama delo", [text])
    assert found.windows[0].end - found.windows[0].start == 8
    passage = passage_of(matcher.scorer, text, found.windows[0].start, found.windows[0].end)
    assert len(passage.text.split()) == 8
    assert found.scores[0] == pytest.approx(matcher.predict([("bama delo", passage.text)])[0], abs=1e-5)


def test_a_model_of_words_with_evidence_reads_long_texts_too():
    from pairlight import Matcher

    pairs = overlap(6, seed=0)
    matcher = Matcher("mv-lstm").fit(pairs, vectors="none", epochs=1, max_length=8, init=None, progress=False)
    long = "godu kusi " * 10 + "bama delo"
    found = score_passages(matcher.scorer, "bama delo", ["bama delo firi", long])
    windows = [passage_of(matcher.scorer, long, start, start + 8).text for start in (0, 4, 8, 12, 14)]
    alone = matcher.predict([("bama delo", text) for text in ("bama delo firi", *windows)])
    assert found.scores == pytest.approx([alone[0], alone[1:].max()], abs=1e-5)
    assert are_whole(found) == [True, False]


def test_a_model_that_reads_less_than_the_tokenizer_has_windows_of_that_size():
    from pairlight import Matcher

    matcher = Matcher("arc-i", length=8, maps=4, mlp=4, dim=6, evidence=False)
    matcher.fit(overlap(6, seed=0), vectors="none", epochs=1, max_length=40, progress=False)
    text = "godu kusi " * 10 + "bama delo"
    found = score_passages(matcher.scorer, "bama delo", [text])
    windows = [passage_of(matcher.scorer, text, start, start + 8).text for start in (0, 4, 8, 12, 14)]
    alone = matcher.predict([("bama delo", window) for window in windows])
    assert found.scores[0] == pytest.approx(alone.max(), abs=1e-5)
    assert found.windows[0].end - found.windows[0].start == 8
