"""A model before training, which scores by its evidence."""

from collections.abc import Mapping
from typing import Any

from pairlight.core.errors import InputError
from pairlight.inference.model_folder import TrainedModel
from pairlight.layers.backends import inference_backend, parameter_namespace, use_backend
from pairlight.models import build, model_class
from pairlight.text.vocabulary import fit_tokenizer
from pairlight.training.config import TrainingConfig


def untrained_model(name: str, settings: Mapping[str, Any]) -> TrainedModel:
    """A model that knows no words of its own and scores by its evidence."""
    kind = model_class(name)
    inputs = kind.input_spec(settings)
    # Evidence has vectors of its own; another model that can score untrained does so by those of words.
    vectors = "wordllama" if inputs.pretrained_vectors and not kind.takes_evidence else "none"
    config = TrainingConfig.of(kind.training_options(settings), {"vectors": vectors})
    if kind.takes_evidence:
        settings = {"evidence": True} | dict(settings)
    tokenizer = fit_tokenizer([], inputs)
    with use_backend(inference_backend()):
        parameter_namespace().manual_seed(config.seed)
        model = build(name, tokenizer.vocab_size, **settings)
    if model.linear_layer() is None:
        raise InputError(
            "This matcher is not trained, and without evidence it has nothing to score by: call fit(pairs), or "
            "Matcher.load(folder)."
        )
    model.init_weights(config.init_scale)
    return TrainedModel(name, model.eval(), tokenizer, config.max_length, training=config.as_dict())
