"""Settings as data: read from the signature and docstring of a model, and checked."""

import pytest

from pairlight.core.errors import InputError
from pairlight.models import build, model_class
from pairlight.models.settings import check_settings, model_settings


def parsed(name: str, **given):
    return check_settings(name, model_class(name), given)


def test_a_setting_has_a_default_a_range_choices_and_a_meaning():
    settings = model_settings(model_class("mv-lstm"))
    assert list(settings)[:5] == ["hidden", "interaction", "channels", "k", "mlp"]
    assert settings["k"].default == 5
    assert str(settings["k"].range).startswith("at least 1 and at most")
    assert "tensor" in settings["interaction"].choices
    assert settings["dim"].meaning == "size of a word vector"


def test_a_model_may_give_a_shared_setting_another_default():
    assert model_settings(model_class("amv-lstm"))["gate"].default == "left"
    assert model_settings(model_class("mv-lstm"))["gate"].default == "none"
    assert build("amv-lstm", 9, dim=4).settings["gate"] == "left"


def test_text_is_converted_to_the_type_of_the_default():
    assert parsed("mv-lstm", k="7", dropout="0.5", rescale="yes") == {"k": 7, "dropout": 0.5, "rescale": True}


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("mv-lstm", {"k": "many"}, "mv-lstm: k='many' is not a whole number; the default is 5."),
        ("mv-lstm", {"k": 2.5}, "mv-lstm: k=2.5 is not a whole number; the default is 5."),
        ("mv-lstm", {"k": True}, "mv-lstm: k=True is not a whole number"),
        ("mv-lstm", {"hidden": 20_000}, "hidden=20000 is out of range: it must be at least 1 and at most 10000."),
        ("arc-ii", {"layers": 10_000}, "layers=10000 is out of range"),
        ("mv-lstm", {"k": 0}, "mv-lstm: k=0 is out of range: it must be at least 1"),
        ("mv-lstm", {"dropout": 1.0}, "dropout=1.0 is out of range: it must be at least 0 and below 1."),
        ("bm25", {"k1": -1}, "bm25: k1=-1.0 is out of range: it must be at least 0 and at most 1000000."),
        ("mv-lstm", {"rescale": "maybe"}, "rescale='maybe' is not true or false"),
        ("mv-lstm", {"gate": 3}, "gate=3 is not text"),
        ("mv-lstm", {"gate": "question"}, "gate='question' is not one of none, left, right, both."),
        ("mv-lstm", {"hiden": 3}, "mv-lstm: No setting named 'hiden'. Did you mean 'hidden'?"),
    ],
)
def test_an_invalid_setting_is_rejected_with_the_rule(name, given, message):
    with pytest.raises(InputError) as error:
        parsed(name, **given)
    assert message in str(error.value)


def test_a_built_model_knows_all_its_settings():
    settings = build("mv-lstm", 9, k=3, dim=4).settings
    assert settings["k"] == 3
    assert settings["dim"] == 4
    assert settings["hidden"] == 50
    assert set(settings) == set(model_settings(model_class("mv-lstm")))
