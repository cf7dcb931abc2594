"""Small matchers to explain: one for every case of the table of models, with random weights.

Every case is also one in the form of the model's paper, `bare_case`.
"""

import functools

import torch

from models.toy import CASES, Case, bare
from pairlight import Matcher
from pairlight.explain.data import Explanation
from toy_pairs import overlap

LEFT = "Bama delo, firi kusi bama?"
RIGHT = "Godu firi mama bama — 词 neverseen kusi"


def bare_case(case: Case) -> Case:
    return Case(case.name, bare(case.name, case.settings))


FORMS = {str(case): case for case in [*CASES, *map(bare_case, CASES)]}


def matcher(case: Case) -> Matcher:
    return _matcher(str(case))


def explained(case: Case) -> Explanation:
    return _explained(str(case))


@functools.cache
def _explained(name: str) -> Explanation:
    return _matcher(name).explain(LEFT, RIGHT)


@functools.cache
def _matcher(name: str) -> Matcher:
    case = FORMS[name]
    torch.manual_seed(0)
    made = Matcher(case.name, **case.settings).fit(
        overlap(12, seed=0), epochs=0, vectors="none", negatives="list", progress=False
    )
    model = made.scorer.model
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4)
        for layer in model.all_layers():
            if hasattr(layer, "padding_id"):
                layer.weight[layer.padding_id] = 0
    return made
