"""`pairlight models`: the list of models, and the description of one."""

import json

from pairlight.models import MODELS


def test_the_list_has_every_model(run):
    code, out, _ = run("models")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line.split()[0] in MODELS] == list(MODELS)


def test_the_list_as_json_has_the_size_of_every_model(run):
    rows = json.loads(run("models", "--json")[1])
    assert [row["name"] for row in rows] == list(MODELS)
    assert set(rows[0]) == {"name", "family", "input_kind", "paper", "parameters", "lines"}


def test_a_model_is_described_by_its_equations_and_settings(run):
    code, out, _ = run("models", "mv-lstm")
    assert code == 0
    assert "s_ij = interaction of p_i and p_j" in out
    assert "--set k=5" in out
    assert "number of largest interactions" in out


def test_training_options_with_another_default_are_printed(run):
    assert "\nDefault training options: max_length=64\n" in run("models", "late-interaction")[1]
    said = run("models", "conv-knrm")[1]
    assert "Default training options:" not in said
    paper = said.partition("Training options in the form of the paper: ")[2].strip().split(", ")
    assert {"loss=hinge", "optimizer=adam", "lr=0.001", "vectors=skip-gram"} <= set(paper)
    assert "in the form of the paper:" not in run("models", "bm25")[1]


def test_training_options_with_another_default_are_in_the_json(run):
    found = json.loads(run("models", "conv-knrm", "--json")[1])
    assert found["training_defaults"] == {}
    assert found["paper_training"]["optimizer"] == "adam"
    assert found["paper_training"]["loss"] == "hinge"
    found = json.loads(run("models", "late-interaction", "--json")[1])
    assert (found["training_defaults"], found["paper_training"]) == ({"max_length": 64}, {})


def test_settings_as_json_have_their_ranges_and_choices(run):
    found = json.loads(run("models", "mv-lstm", "--json")[1])
    settings = {setting["name"]: setting for setting in found["settings"]}
    assert next(iter(settings)) == "hidden"
    assert settings["dropout"]["range"] == "at least 0 and below 1"
    assert "tensor" in settings["interaction"]["choices"]


def test_an_unknown_name_gets_a_suggestion(fails):
    fails(["models", "mvlstm"], "Did you mean 'mv-lstm'?")
