"""The training pairs most like a pair: out of one table of models, by what enters their scores."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from explain.explained import matcher
from models.toy import CASES, Case
from pairlight import InputError, Matcher
from pairlight.explain.nearest import scoring_stages
from toy_pairs import overlap

FIRST = {case.name: case for case in reversed(CASES)}
TRAIN = overlap(6, seed=3)
every_model = pytest.mark.parametrize("case", FIRST.values(), ids=str)


def pair(row: int) -> tuple[str, str]:
    return TRAIN.texts[TRAIN.left[row]], TRAIN.texts[TRAIN.right[row]]


@every_model
def test_no_training_pair_is_nearer_to_one_than_itself(case):
    made = matcher(case)
    found = made.nearest(*pair(9), TRAIN, n=len(TRAIN))
    own = next(each for each in found if each.row == 9)
    assert ((own.left, own.right), own.label) == (pair(9), TRAIN.labels[9])
    np.testing.assert_allclose([own.likeness, found[0].likeness], 1, rtol=1e-4)
    np.testing.assert_allclose(own.score, made.predict([pair(9)])[0], rtol=1e-4, atol=1e-6)
    likeness = [each.likeness for each in found]
    assert likeness == sorted(likeness, reverse=True)
    assert likeness[-1] < 0.9 or case.name == "urae"  # whose toy grid is all beyond its spread


@every_model
def test_the_order_of_the_training_pairs_does_not_matter(case):
    turned = TRAIN.take(np.arange(len(TRAIN))[::-1])
    there = matcher(case).nearest("bama delo firi", "kusi bama delo", TRAIN, n=3)
    back = matcher(case).nearest("bama delo firi", "kusi bama delo", turned, n=3)
    np.testing.assert_allclose([a.likeness for a in there], [b.likeness for b in back], rtol=1e-4)


@every_model
def test_a_text_of_one_word_has_neighbours_too(case):
    assert len(matcher(case).nearest("bama", "kusi bama", TRAIN, n=2)) == 2


def test_likeness_is_told_in_spreads_of_what_enters_the_score():
    made = matcher(FIRST["mv-lstm"])
    given = []
    handle = made.model.score.register_forward_pre_hook(lambda _, args: given.append(args[0][0].double()))
    for row in range(len(TRAIN)):
        made.predict([pair(row)])
    handle.remove()
    features = torch.stack(given)
    apart = ((features - features[5]) / features.std(0, correction=0)).square().mean(1).sqrt().numpy()
    for found in made.nearest(*pair(5), TRAIN, n=len(TRAIN)):
        np.testing.assert_allclose(found.likeness, 1 / (1 + apart[found.row]), rtol=1e-4)


def test_a_model_without_a_stage_named_score_is_asked_for_those_that_give_a_number():
    made = matcher(FIRST["duet"])
    encoded = made.tokenizer.encode(["bama", "delo"], 9)
    assert scoring_stages(made.model, encoded) == [made.model.local_head, made.model.distributed_head]
    assert scoring_stages(matcher(Case("bm25")).model, encoded) == []


def test_what_knows_only_words_goes_by_the_words_of_both_sides():
    made = Matcher("bm25").fit(TRAIN, progress=False)
    train = [("bama delo", "firi", 1.0), ("bama bama", "kusi", 0.0), ("godu", "siri", 1.0)]
    found = made.nearest("bama delo", "kusi", train, n=3)
    assert [each.row for each in found] == [1, 0, 2]
    np.testing.assert_allclose([each.likeness for each in found], [(0.5**0.5 + 1) / 2, 0.5, 0], atol=1e-12)


def test_the_page_names_the_models_that_go_by_words():
    by_words = {name for name, case in FIRST.items() if matcher(case).nearest(*pair(9), TRAIN, n=1)[0].by == "words"}
    page = Path(__file__).parents[2] / "docs" / "explaining.md"
    named = re.search(r"Where there are none\s\(([^)]*)\)", page.read_text(encoding="utf-8"))
    assert named is not None
    assert set(named[1].split(", ")) == by_words


def test_nothing_to_look_for_or_among_is_refused():
    made = matcher(Case("bm25"))
    with pytest.raises(InputError, match="n=0 pairs are none"):
        made.nearest("bama", "delo", TRAIN, n=0)
    with pytest.raises(InputError, match="no training pair"):
        made.nearest("bama", "delo", TRAIN.take([]))
