"""The page of departures has every model and every experiment that differs from its paper."""

import inspect
import re

import pytest

from docs.pages import DOCS
from pairlight.experiments.papers import experiment_titles
from pairlight.experiments.published import FORMS
from pairlight.models import MODELS, model_class

PAGE = (DOCS / "departures.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
DEPARTING = [name for name in MODELS if "Unlike the paper:" in (inspect.getdoc(model_class(name)) or "")]


@pytest.mark.parametrize("name", DEPARTING)
def test_a_model_whose_docstring_states_a_departure_is_on_the_page(name):
    (row,) = [row for row in ROWS if row[0] == f"[{name}](models/{name}.md)"]
    assert all(row)


def test_a_model_on_the_page_states_its_departure_in_its_docstring():
    listed = re.findall(r"^\| \[([\w-]+)\]\(models/", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(DEPARTING)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_mentioned(name):
    assert f"(models/{name}.md)" in PAGE


def test_every_effect_is_measured_or_said_not_to_be():
    models = [row for row in ROWS if row[0].startswith("[")]
    assert models
    for row in models:
        assert row[-1].startswith(("measured", "not measured")), row[0]


def test_every_experiment_says_which_form_it_ran():
    assert set(FORMS) == set(experiment_titles())
