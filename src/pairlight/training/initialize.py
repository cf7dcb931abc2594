"""Where training starts: the vocabulary, the word vectors and the first weights, or those of an older model."""

import hashlib
from pathlib import Path
from typing import Any

import torch

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.models import build, model_class
from pairlight.models.base import PairModel, defaults
from pairlight.core.progress import ProgressReporter
from pairlight.text.tokenizer import SPECIAL, Tokenizer
from pairlight.text.vectors import Vectors, load_vectors, skip_gram
from pairlight.training.config import TrainingConfig


def start(
    name: str,
    settings: dict[str, Any],
    pairs: Pairs,
    options: TrainingConfig,
    show: ProgressReporter,
    older: tuple[Tokenizer, PairModel] | None = None,
) -> tuple[Tokenizer, PairModel]:
    """A tokenizer that knows the words of the pairs and an untrained model, or an older one that learnt new words."""
    kind = model_class(name)
    show.say("Counting words.")
    if older is None:
        tokenizer = Tokenizer.fit(pairs.texts, view=kind.input_kind, min_count=options.min_count, most=kind.pieces)
    else:
        tokenizer = older[0]
        if kind.pieces is None:
            tokenizer = tokenizer.extended(pairs.texts, min_count=options.min_count)
        settings = older[1].settings | settings
    vectors = None
    if "dim" in defaults(kind) and options.vectors != "none":
        vectors = _vectors(tokenizer, settings, pairs, options, show)
        tokenizer = tokenizer.with_words(vectors.words)
        settings = {"dim": vectors.dim} | settings
        if settings["dim"] != vectors.dim:
            raise InputError(
                f"dim={settings['dim']} but the vectors '{options.vectors}' have {vectors.dim} numbers a word: "
                f"leave dim out or give {vectors.dim}."
            )
    model = build(name, tokenizer.vocab, **settings)
    model.init_weights(options.init_scale)
    _place(model, vectors, options.freeze)
    if older is not None:
        _inherit(model, older[1])
    return tokenizer, model


def origin(tokenizer: Tokenizer, options: TrainingConfig) -> str:
    """What tells the words of a run, and the file that their vectors are from, from others."""
    digest = hashlib.sha256("\n".join(tokenizer.pieces).encode("utf-8"))
    if Path(options.vectors).is_file():
        with Path(options.vectors).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _vectors(tokenizer: Tokenizer, settings: dict[str, Any], pairs: Pairs, options: TrainingConfig, show: ProgressReporter) -> Vectors:
    words = tokenizer.pieces[len(SPECIAL) :]
    if options.vectors == "skip-gram":
        show.say("Training skip-gram word vectors on these texts.")
        dim = settings.get("dim", 50)
        vectors = skip_gram(map(tokenizer.split, pairs.texts), words, dim=dim, seed=options.seed)
    else:
        vectors = load_vectors(options.vectors, words, extra=options.extra_words)
    own = vectors.found[: len(words)]
    show.say(f"Word vectors ({options.vectors}): {own.sum():,} of {len(own):,} words have one.")
    return vectors.normalized() if options.normalize else vectors


def _place(model: PairModel, vectors: Vectors | None, freeze: bool) -> None:
    """Put the vectors found into the model's table of words."""
    table = model.word_table()
    if table is None:
        return
    if vectors is not None:
        found = torch.from_numpy(vectors.found)
        with torch.no_grad():
            own = table.weight[len(SPECIAL) :]
            own[found] = torch.from_numpy(vectors.rows)[found]
            if freeze and not model.random_oov:
                own[~found] = 0
    table.weight.requires_grad_(not freeze)


def _inherit(model: PairModel, older: PairModel) -> None:
    """Take every weight of the older model; where the vocabulary grew, its rows come first."""
    state = model.state_dict()
    for name, tensor in older.state_dict().items():
        if state[name].shape[1:] != tensor.shape[1:] or state[name].numel() < tensor.numel():
            raise InputError(f"The model to start from has another size of {name}: give the same settings.")
        if tensor.dim():
            state[name][: len(tensor)] = tensor
        else:
            state[name] = tensor
    model.load_state_dict(state)
