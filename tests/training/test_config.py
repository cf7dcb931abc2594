"""Training options are checked."""

import pytest

from pairlight.core.errors import InputError
from pairlight.training.config import TrainingConfig


def test_given_options_override_the_models_defaults_and_these_pairlights():
    options = TrainingConfig.of({"lr": 0.5, "loss": "listwise"}, {"lr": 0.7})
    assert (options.lr, options.loss, options.batch) == (0.7, "listwise", 32)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"learning_rate": 1.0}, "No training option named 'learning_rate'.*lr"),
        ({"lr": 0.0}, "lr=0.0 is out of range: it must be above 0"),
        ({"lr": float("nan")}, "lr=nan"),
        ({"epochs": -1}, "epochs=-1 is out of range: it must be at least 0"),
        ({"batch": 0}, "batch=0"),
        ({"batch": 1.5}, "batch=1.5 has the wrong type"),
        ({"freeze": 1}, "freeze=1 has the wrong type"),
        ({"loss": "huber"}, "loss='huber' is not one of auto, hinge"),
        ({"metric": "recall"}, "metric='recall' is not one of"),
        ({"max_grad_norm": float("inf")}, "max_grad_norm=inf"),
        ({"negatives_per_positive": 2**31 - 1}, "negatives_per_positive=2147483647 is out of range: it must be at mo"),
        ({"lr": 1e39}, r"lr=1e\+39 is out of range: it must be at most 1000"),
        ({"init_scale": 3e38}, r"init_scale=3e\+38 is out of range"),
        ({"max_length": 10**20}, "max_length=100000000000000000000 is out of range"),
        ({"seed": 2**32}, "seed=4294967296 is out of range: it must be at most 4294967295"),
    ],
)
def test_an_invalid_option_names_the_value_and_the_rule(given, said):
    with pytest.raises(InputError, match=said):
        TrainingConfig.of({}, given)


def test_an_integer_is_accepted_for_a_float():
    assert TrainingConfig.of({}, {"lr": 1}).lr == 1
