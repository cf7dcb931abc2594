"""Evidence is explained: its table sums to the score, its words to the evidence, and words are removed as subwords."""

import numpy as np
import pytest
import torch

from explain.explained import LEFT, RIGHT, bare_case, explained, matcher
from models.toy import CASES, Case
from pairlight.explain.explain import text_view, words_of_tokens
from pairlight.explain.mechanisms.evidence import evidence_of_subwords
from pairlight.explain.removal import texts_without, words_of_subwords
from pairlight.explain.trace import Trace, trace_pair
from pairlight.layers.collate import collate
from pairlight.layers.evidence import FEATURES, Evidence
from pairlight.models import MODELS, model_class
from pairlight.text.subwords import SUBWORDS
from pairlight.text.tokenizer import TokenizedTexts
from reference.late_interaction import pair_features, static_vectors

FIRST = {case.name: case for case in reversed(CASES)}
WITH_EVIDENCE = [FIRST[name] for name in MODELS if model_class(name).takes_evidence]
LATE = FIRST["late-interaction"]
every_model = pytest.mark.parametrize("case", [*WITH_EVIDENCE, LATE], ids=lambda case: case.name)
TEXTS = (("Bama delo, firi!", "firi bama godu bama"), ("bama", "kusi"), ("bama", "bama"), (LEFT, RIGHT))


def traced(case: Case, left: str, right: str) -> Trace:
    scorer = matcher(case).scorer
    tokenized = scorer.token_ids([left, right])
    return trace_pair(scorer.model.eval(), *(collate(tokenized, np.array([t]), "cpu") for t in range(2)))


# The table


@every_model
def test_the_table_of_evidence_is_first_and_sums_to_the_score(case):
    it = explained(case)
    table = it.tables[0]
    assert table.name == "evidence"
    assert table.facts[0].label == "the model itself"
    assert sum(fact.contribution for fact in table.facts) == pytest.approx(it.score, rel=1e-5, abs=1e-5)
    assert [fact.label for fact in table.facts].count("constant") == 1
    assert set(FEATURES) <= {fact.label for fact in table.facts}
    sizes = [abs(fact.contribution) for fact in table.facts[1:]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", ["bm25", "random"])
def test_a_model_without_evidence_has_no_such_table(name):
    for case in (FIRST[name], bare_case(FIRST["mv-lstm"]), bare_case(FIRST["dssm"])):
        assert "evidence" not in {table.name for table in explained(case).tables}


@pytest.mark.parametrize("name", ["mv-lstm", "dssm", "match-srnn", "urae"])
def test_the_part_of_the_model_itself_is_ten_times_its_weight_times_its_score(name):
    made, it = matcher(FIRST[name]), explained(FIRST[name])
    model, tokenized = made.scorer.model, made.scorer.token_ids([LEFT, RIGHT])
    with torch.no_grad():
        own = float(model.own(*(collate(tokenized, np.array([t]), "cpu") for t in range(2))))
        expected = 10 * float(model.weight) * own
    assert it.tables[0].facts[0].contribution == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_features_have_their_values_and_the_weights_of_the_linear_layer():
    model, tokenized = matcher(FIRST["mv-lstm"]).scorer.model, SUBWORDS.tokenize([LEFT, RIGHT], 75)
    left, right = (tokenized.ids[tokenized.start[t] : tokenized.start[t + 1]].tolist() for t in range(2))
    r, q = ([float(model.evidence.idf[word]) for word in text] for text in (left, right))
    average = float(model.evidence.features.average_length)
    f = pair_features(static_vectors(left), static_vectors(right), r, q, left, right, average, 0)
    facts = {fact.label: fact for fact in explained(FIRST["mv-lstm"]).tables[0].facts}
    weight = model.evidence.linear.weight[0].tolist()
    for name, value, factor in zip(FEATURES, f, weight, strict=True):
        assert facts[name].values == pytest.approx({"value": value, "weight": factor}, rel=1e-4, abs=1e-5)
        assert facts[name].contribution == pytest.approx(value * factor, rel=1e-4, abs=1e-5)
    assert facts["constant"].contribution == pytest.approx(model.evidence.linear.bias.item())


def test_the_most_similar_subwords_of_late_interaction_are_one_row():
    model, it = matcher(LATE).scorer.model, explained(LATE)
    facts = {fact.label: fact.contribution for fact in it.tables[0].facts}
    label = f"{model.features.k} most similar pairs of subwords"
    with torch.no_grad():
        trace = traced(LATE, LEFT, RIGHT)
        f = model.linear_features(trace.left, trace.right)
        own, cells = float(model.score(f)), float(f[0, 9:] @ model.linear.weight[0, 9:])
    assert facts[label] == pytest.approx(cells, rel=1e-4)
    assert facts["the model itself"] == pytest.approx(own, rel=1e-4, abs=1e-4)


# The parts of subwords and words


@pytest.mark.parametrize(("left", "right"), TEXTS)
@pytest.mark.parametrize("name", ["mv-lstm", "dssm", "urae"])
def test_the_parts_of_subwords_sum_to_the_evidence_without_lengths_and_constant(name, left, right):
    trace = traced(FIRST[name], left, right)
    (evidence, call), *_ = trace.calls_of(Evidence)
    with torch.no_grad():
        parts = evidence_of_subwords(trace)
    assert parts is not None
    lengths = [tokens.ids.shape[1] for tokens in call.args]
    assert [len(part) for part in parts] == lengths
    w = evidence.linear.weight[0].tolist()
    rest = w[7] * np.log(1 + lengths[0]) + w[8] * np.log(1 + lengths[1]) + evidence.linear.bias.item()
    total = sum(float(part.sum()) for part in parts)
    assert total == pytest.approx(float(call.output[0]) - rest, rel=1e-4, abs=1e-4)


def test_only_models_with_evidence_have_parts_of_subwords():
    assert evidence_of_subwords(traced(bare_case(FIRST["mv-lstm"]), LEFT, RIGHT)) is None
    assert evidence_of_subwords(traced(LATE, LEFT, RIGHT)) is None


def test_a_subword_on_both_sides_contributes_more_than_one_that_is_not():
    made = matcher(FIRST["mv-lstm"])
    before = made.scorer.model.evidence.linear.weight.detach().clone()
    with torch.no_grad():
        made.scorer.model.evidence.linear.weight.copy_(torch.tensor([[0, 0, 0, 0, 2.0, 3.0, 0, 0, 0]]))
        left, right = evidence_of_subwords(traced(FIRST["mv-lstm"], "the dog", "a dog"))
        made.scorer.model.evidence.linear.weight.copy_(before)
    assert (float(left[0]), float(right[0])) == (0, 0)
    assert float(left[1]) > 0
    assert float(right[1]) > 0


@pytest.mark.parametrize("name", ["mv-lstm", "dssm"])
def test_the_contributions_of_words_include_their_subwords(name):
    """With the model itself turned off, integrated gradients are the evidence of each word."""
    case = FIRST[name]
    made = matcher(case)
    model = made.scorer.model
    before = model.weight.detach().clone()
    with torch.no_grad():
        model.weight.fill_(1e-4)  # the model is read, and adds almost nothing
        it = made.explain(LEFT, RIGHT)
        left, right = evidence_of_subwords(traced(case, LEFT, RIGHT))
        model.weight.copy_(before)
    found = it.contributions_by("integrated-gradients")
    assert found is not None
    views = [text_view(made.scorer, text, "left") for text in (LEFT, RIGHT)]
    for values, part, view in ((found.left, left, views[0]), (found.right, right, views[1])):
        words = words_of_subwords(view.text, [(word.start, word.end) for word in view.words], len(part))
        for number in range(len(view.words)):
            own = sum(float(value) for value, word in zip(part, words, strict=True) if word == number)
            assert values[number] == pytest.approx(own, rel=1e-3, abs=5e-3)


# Removal


def texts_of(*texts: list[int], **given) -> TokenizedTexts:
    start = np.cumsum([0, *map(len, texts)])
    return TokenizedTexts(np.concatenate(texts).astype(np.int32), start, 0, **given)


def lists(texts: TokenizedTexts) -> list[list[int]]:
    return [texts.ids[a:b].tolist() for a, b in zip(texts.start, texts.start[1:], strict=False)]


def test_texts_without_words_follow_the_texts_themselves():
    texts = texts_of([5, 6, 7], [8, 9], [1])
    found = texts_without(texts, [(0, {1}), (1, {0, 1}), (0, [0, 2]), (1, set())])
    assert lists(found) == [[5, 6, 7], [8, 9], [5, 7], [1], [6], [8, 9]]
    assert found.subwords is None


def test_words_are_removed_from_both_tokenizations():
    subwords = texts_of([50, 51, 60, 70], [80, 90, 91], [29871])
    texts = texts_of([5, 6, 7], [8, 9], [1], subwords=subwords)
    found = texts_without(texts, [(0, {0}), (1, {1}), (1, {0, 1})], None, [[0, 0, 1, 2], [0, 1, 1]])
    assert lists(found) == [[5, 6, 7], [8, 9], [6, 7], [8], [1]]
    assert lists(found.subwords) == [[50, 51, 60, 70], [80, 90, 91], [60, 70], [80], [29871]]


def test_subwords_that_belong_to_no_word_are_kept():
    texts = texts_of([5, 6], [8], [1], subwords=texts_of([50, 99, 60], [80], [29871]))
    found = texts_without(texts, [(0, {0}), (0, {0, 1})], None, [[0, -1, 1], [0]])
    assert lists(found.subwords)[2:] == [[99, 60], [99]]
    assert lists(found)[2:] == [[6], [1]]


def test_words_of_several_tokens_are_removed_as_a_whole():
    found = texts_without(texts_of([5, 6, 7], [8], [1]), [(0, {0}), (0, {1})], [[0, 0, 1], [0]])
    assert lists(found)[2:] == [[7], [5, 6]]


def test_the_subwords_of_a_word_are_those_within_it():
    text = "antidisestablishment, the 词 !"
    spans = [(0, 20), (20, 21), (22, 25), (26, 27), (28, 29)]
    count = len(SUBWORDS.tokens(text))
    words = words_of_subwords(text, spans, count)
    assert len(words) == count
    assert words == sorted(words)
    assert set(words) == {0, 1, 2, 3, 4}
    assert words.count(0) > 1
    assert words_of_subwords(text, spans, 2) == words[:2]
    assert words_of_subwords(text, spans[:1], count)[-1] == -1  # the model reads no further word
    assert words_of_subwords("", [], 1) == [-1]


@pytest.mark.parametrize("name", ["mv-lstm", "dssm", "urae"])
def test_a_word_that_is_left_out_is_gone_as_a_word_and_as_subwords(name):
    scorer = matcher(FIRST[name]).scorer
    left, right = "bama antidisestablishment kusi", "the 词 bama"
    tokenized = scorer.token_ids([left, right, ""])
    views = text_view(scorer, left, "left"), text_view(scorer, right, "right")
    found = texts_without(tokenized, [(0, {1}), (1, {1})], *words_of_tokens(scorer, tokenized, views))
    expected = scorer.token_ids([left, right, "bama kusi", "the bama"])
    assert lists(found.subwords) == lists(expected.subwords)
    assert np.diff(found.start).tolist() == np.diff(expected.start).tolist() == [3, 3, 2, 2]


# Parse trees


def test_brackets_of_a_parse_tree_are_no_evidence():
    made = matcher(FIRST["urae"])
    tree, plain = "((bama delo) （firi kusi））", "bama delo firi kusi"
    tokenized = made.scorer.token_ids([tree, plain, "(not a tree", "bama (delo)"])
    subwords = lists(tokenized.subwords)
    assert subwords[0] == subwords[1]
    assert subwords[2] != lists(made.scorer.token_ids(["not a tree"]).subwords)[0]
    assert subwords[3] != lists(made.scorer.token_ids(["bama delo"]).subwords)[0]
    assert made.scorer.tokenizer.without_brackets("（bama delo)") == " bama delo "
    other = matcher(FIRST["mv-lstm"]).scorer.tokenizer
    assert other.without_brackets(tree) == tree
