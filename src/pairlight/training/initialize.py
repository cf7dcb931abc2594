"""The vocabulary, the word vectors and the first weights of a model, or those of a trained model to continue from."""

import hashlib
from pathlib import Path
from typing import Any

import torch

from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.data.pairs import Pairs
from pairlight.inference.model_folder import TrainedModel
from pairlight.models import build, model_class
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import SPECIAL, UNKNOWN, Tokenizer
from pairlight.text.vectors import Vectors, load_vectors, skip_gram
from pairlight.text.vocabulary import AnyTokenizer, fit_tokenizer
from pairlight.training.config import TrainingConfig

DIM = 50  # of skip-gram vectors, where no setting says


def initialize_model(
    name: str,
    settings: dict[str, Any],
    pairs: Pairs,
    config: TrainingConfig,
    reporter: ProgressReporter,
    init: TrainedModel | None = None,
) -> tuple[AnyTokenizer, PairModel]:
    """A tokenizer for the words of the pairs and an untrained model, or `init` extended by new words."""
    if model_class(name).takes_evidence:
        settings = {"evidence": True} | settings
    inputs = model_class(name).input_spec(settings)
    reporter.say("Building the vocabulary.")
    if init is None:
        tokenizer = fit_tokenizer(pairs.texts, inputs, min_count=config.min_count)
    else:
        tokenizer = init.tokenizer
        if inputs.max_vocab is None:
            tokenizer = tokenizer.extended(pairs.texts, min_count=config.min_count)
        settings = init.model.settings | settings
    vectors = None
    if isinstance(tokenizer, Tokenizer) and inputs.pretrained_vectors and config.vectors != "none":
        vectors = _word_vectors(tokenizer, settings, pairs, config, reporter)
        tokenizer = tokenizer.with_words(vectors.words)
        settings = {"dim": vectors.dim} | settings
        if settings["dim"] != vectors.dim:
            raise InputError(
                f"dim={settings['dim']} does not fit the vectors {config.vectors!r}, which have {vectors.dim} "
                f"dimensions: leave dim out, or set it to {vectors.dim}."
            )
    model = build(name, tokenizer.vocab_size, **settings)
    model.init_weights(config.init_scale)
    _set_word_vectors(model, vectors, config.freeze)
    if init is not None:
        model.prepare_state(init.model.state_dict())
        _copy_weights(model, init.model)
    return tokenizer, model


def vocabulary_digest(tokenizer: AnyTokenizer, config: TrainingConfig) -> str:
    """A checksum of the vocabulary, and of the file of its vectors if there is one."""
    digest = hashlib.sha256("\n".join(tokenizer.vocabulary).encode("utf-8"))
    if Path(config.vectors).is_file():
        with Path(config.vectors).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _word_vectors(
    tokenizer: Tokenizer, settings: dict[str, Any], pairs: Pairs, config: TrainingConfig, reporter: ProgressReporter
) -> Vectors:
    words = tokenizer.vocabulary[len(SPECIAL) :]
    if config.vectors == "skip-gram":
        reporter.say("Training skip-gram word vectors on these texts.")
        texts = map(tokenizer.split, pairs.texts)
        vectors = skip_gram(texts, words, dim=settings.get("dim", DIM), seed=config.seed)
    else:
        vectors = load_vectors(config.vectors, words, extra=config.extra_words)
    own = vectors.found[: len(words)]
    reporter.say(f"Word vectors ({config.vectors}): found for {own.sum():,} of {len(own):,} words.")
    return vectors.normalized() if config.normalize else vectors


def _set_word_vectors(model: PairModel, vectors: Vectors | None, freeze: bool) -> None:
    table = model.word_vectors
    if table is None:
        return
    if vectors is not None:
        found = torch.from_numpy(vectors.found)
        with torch.no_grad():
            rows = table[len(SPECIAL) :]
            rows[found] = torch.from_numpy(vectors.rows)[found]
            if freeze and not model.inputs.random_oov:
                rows[~found] = 0
                table[UNKNOWN] = 0  # the row of all words that do not occur in training
    table.requires_grad_(not freeze)


def _copy_weights(model: PairModel, init: PairModel) -> None:
    """Copy every weight of the trained model; where the vocabulary has grown, its rows come first."""
    state = model.state_dict()
    for name, tensor in init.state_dict().items():
        own = state.get(name)
        if own is None or own.shape[1:] != tensor.shape[1:] or own.numel() < tensor.numel():
            raise InputError(f"The model to continue from has another size of {name}: use the same settings.")
        if tensor.dim():
            own[: len(tensor)] = tensor
        else:
            state[name] = tensor
    model.load_state_dict(state)
