"""The training pairs most similar to a pair, for every model of one table."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from explain.explained import bare_case, matcher
from models.toy import CASES, Case
from pairlight import InputError, Matcher
from pairlight.explain.nearest import scoring_layers
from pairlight.layers.tracing import tracing
from pairlight.models import model_class
from toy_pairs import overlap

FIRST = {case.name: case for case in reversed(CASES)}
TRAIN = overlap(6, seed=3)
FORMS = {str(form): form for case in FIRST.values() for form in (case, bare_case(case))}
every_model = pytest.mark.parametrize("case", FORMS.values(), ids=str)


def pair(row: int) -> tuple[str, str]:
    return TRAIN.texts[TRAIN.left[row]], TRAIN.texts[TRAIN.right[row]]


@every_model
def test_no_training_pair_is_more_similar_to_a_pair_than_the_pair_itself(case):
    made = matcher(case)
    found = made.nearest(*pair(9), TRAIN, n=len(TRAIN))
    own = next(each for each in found if each.row == 9)
    assert ((own.left, own.right), own.label) == (pair(9), TRAIN.labels[9])
    np.testing.assert_allclose([own.similarity, found[0].similarity], 1, rtol=1e-4)
    np.testing.assert_allclose(own.score, made.predict([pair(9)])[0], rtol=1e-4, atol=1e-6)
    similarity = [each.similarity for each in found]
    assert similarity == sorted(similarity, reverse=True)
    assert similarity[-1] < 0.9 or case.name == "urae"  # whose features are all clipped here


@every_model
def test_the_order_of_the_training_pairs_does_not_matter(case):
    turned = TRAIN.take(np.arange(len(TRAIN))[::-1])
    there = matcher(case).nearest("bama delo firi", "kusi bama delo", TRAIN, n=3)
    back = matcher(case).nearest("bama delo firi", "kusi bama delo", turned, n=3)
    np.testing.assert_allclose([a.similarity for a in there], [b.similarity for b in back], rtol=1e-4)


@every_model
def test_a_text_of_one_word_has_neighbors(case):
    assert len(matcher(case).nearest("bama", "kusi bama", TRAIN, n=2)) == 2


class ScoreInputs:
    """A LayerTrace that records the input of the layer `score`."""

    def __init__(self, layer):
        self.layer, self.inputs = layer, []

    def watches(self, layer):
        return layer is self.layer

    def call(self, layer, args):
        self.inputs.append(args[0][0].double())
        return layer.forward(*args)


def test_similarity_is_measured_in_standard_deviations_of_the_features():
    made = matcher(bare_case(FIRST["mv-lstm"]))
    trace = ScoreInputs(made.scorer.model.score)
    with tracing(trace):
        for row in range(len(TRAIN)):
            made.predict([pair(row)])
    features = torch.stack(trace.inputs)
    distance = ((features - features[5]) / features.std(0, correction=0)).square().mean(1).sqrt().numpy()
    for found in made.nearest(*pair(5), TRAIN, n=len(TRAIN)):
        np.testing.assert_allclose(found.similarity, 1 / (1 + distance[found.row]), rtol=1e-4)


def layers_of(case: Case) -> list[str]:
    """The names of a model's scoring layers."""
    scorer = matcher(case).scorer
    found = scoring_layers(scorer.model, scorer.token_ids(["bama", "delo firi"]))
    return [name for name, layer in scorer.model.named_layers() if layer in found]


def test_features_are_the_inputs_of_the_layers_that_score():
    assert layers_of(bare_case(FIRST["mv-lstm"])) == ["score"]
    assert layers_of(bare_case(FIRST["duet"])) == ["local_head", "distributed_head"]  # has no layer named score
    assert layers_of(bare_case(FIRST["drmm"])) == ["feed_forward"]  # its score is a weighted sum over words
    assert layers_of(bare_case(FIRST["anmm"])) == []
    assert layers_of(FIRST["bm25"]) == []


def test_the_features_of_evidence_are_features_too():
    assert layers_of(FIRST["mv-lstm"]) == ["own.score", "evidence.linear"]
    assert layers_of(FIRST["duet"]) == ["own.local_head", "own.distributed_head", "evidence.linear"]
    assert layers_of(FIRST["drmm"]) == ["own.feed_forward", "evidence.linear"]
    assert layers_of(FIRST["anmm"]) == ["evidence.linear"]
    assert layers_of(FIRST["late-interaction"]) == ["score"]  # which has the features of evidence as its input


def test_a_model_without_features_compares_the_words_of_both_texts():
    made = Matcher("bm25").fit(TRAIN, progress=False)
    train = [("bama delo", "firi", 1.0), ("bama bama", "kusi", 0.0), ("godu", "siri", 1.0)]
    found = made.nearest("bama delo", "kusi", train, n=3)
    assert [each.row for each in found] == [1, 0, 2]
    np.testing.assert_allclose([each.similarity for each in found], [(0.5**0.5 + 1) / 2, 0.5, 0], atol=1e-12)


def test_the_docs_name_models_without_features():
    page = Path(__file__).parents[2] / "docs" / "explaining.md"
    named = re.search(r"models without such\s+features \(([^)]*), without evidence\)", page.read_text(encoding="utf-8"))
    assert named is not None
    names = named[1].replace("`", "").split(", ")
    assert len(names) >= 3
    for name, case in FIRST.items():
        basis = matcher(bare_case(case)).nearest(*pair(9), TRAIN, n=1)[0].basis
        assert (basis == "words") == (name in names)
        if model_class(name).takes_evidence:
            assert matcher(case).nearest(*pair(9), TRAIN, n=1)[0].basis == "score"


def test_an_empty_table_and_a_count_of_zero_are_refused():
    made = matcher(FIRST["bm25"])
    with pytest.raises(InputError, match="n=0 must be at least 1"):
        made.nearest("bama", "delo", TRAIN, n=0)
    with pytest.raises(InputError, match="no training pairs"):
        made.nearest("bama", "delo", TRAIN.take([]))
