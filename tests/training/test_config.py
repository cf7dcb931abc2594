import pytest

from pairlight.core.errors import InputError
from pairlight.training.config import TrainingConfig


def test_what_is_given_goes_before_the_paper_and_the_paper_before_the_house():
    options = TrainingConfig.of({"lr": 0.5, "loss": "listwise"}, {"lr": 0.7})
    assert (options.lr, options.loss, options.batch) == (0.7, "listwise", 128)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"learning_rate": 1.0}, "no training option 'learning_rate'.*lr"),
        ({"lr": 0.0}, "lr=0.0 is out of range: it must be above 0"),
        ({"lr": float("nan")}, "lr=nan"),
        ({"epochs": -1}, "epochs=-1 is out of range: it must be at least 0"),
        ({"batch": 0}, "batch=0"),
        ({"batch": 1.5}, "batch=1.5 is not of the kind"),
        ({"freeze": 1}, "freeze=1 is not of the kind"),
        ({"loss": "huber"}, "loss='huber' is none of auto, hinge"),
        ({"metric": "recall"}, "metric='recall' is none of"),
        ({"max_grad_norm": float("inf")}, "max_grad_norm=inf"),
        ({"seed": 2**32}, "seed=4294967296 is out of range: it must be at most 4294967295"),
    ],
)
def test_an_impossible_option_names_value_rule_and_remedy(given, said):
    with pytest.raises(InputError, match=said):
        TrainingConfig.of({}, given)


def test_a_whole_number_serves_where_a_number_is_wanted():
    assert TrainingConfig.of({}, {"lr": 1}).lr == 1
