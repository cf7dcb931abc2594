"""A trained model as a record, and as a folder: config.json, tokenizer.json, model.safetensors and README.md."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write, write_text
from pairlight.evaluation.calibration import Calibration
from pairlight.inference.card import model_card
from pairlight.inference.ready_made import resolve_model
from pairlight.inference.scorer import ModelScorer
from pairlight.inference.scoring import to_numpy
from pairlight.layers.backends import Backend, inference_backend, use_backend
from pairlight.models import build, model_class
from pairlight.models.base import PairModel
from pairlight.text.subwords import SUBWORD_FOLDER, check_subwords, copy_subwords, subword_digest
from pairlight.text.vectors import oov_vectors
from pairlight.text.vocabulary import AnyTokenizer, read_tokenizer

FORMAT = 3
CONFIG, TOKENIZER, WEIGHTS, CARD = "config.json", "tokenizer.json", "model.safetensors", "README.md"
_KEYS = {"model", "settings", "max_length", "calibration", "training", "history", "data", "subwords", "sha256"}


@dataclass(frozen=True)
class TrainedModel:
    """A model with its vocabulary, its calibration, and how it was trained."""

    name: str
    model: PairModel
    tokenizer: AnyTokenizer
    max_length: int  # words of a text that are read
    calibration: Calibration | None = None
    training: Mapping[str, Any] = field(default_factory=dict)  # the training options
    history: Mapping[str, Any] = field(default_factory=dict)  # epochs, best_epoch and best dev metric
    data: Mapping[str, Any] = field(default_factory=dict)  # sizes and checksums of the training and dev pairs

    def scorer(self) -> ModelScorer:
        oov = None
        if self.model.inputs.pretrained_vectors:
            oov = oov_vectors(str(self.training.get("vectors")), bool(self.training.get("normalize")))
        return ModelScorer(self.name, self.model, self.tokenizer, self.max_length, oov)


def save_model(
    folder: Path,
    trained: TrainedModel,
    *,
    results: Mapping[str, Mapping[str, float]] | None = None,
    command: str | None = None,
    about_data: str | None = None,
    include_vectors: bool = False,
) -> None:
    """Write a model folder; `results`, `command` and `about_data`, such as a license, go into its card.

    With `include_vectors`, the static vectors of subwords are copied into it, so that it does not depend on the
    version of the package that they come from. config.json is written last.
    """
    reads_subwords = trained.model.reads_subwords or trained.model.inputs.input_kind == "subwords"
    if include_vectors and reads_subwords:
        copy_subwords(folder / SUBWORD_FOLDER)
    files = {
        TOKENIZER: trained.tokenizer.to_bytes(),
        WEIGHTS: save_arrays(
            {name: np.asarray(to_numpy(x), order="C") for name, x in trained.model.state_dict().items()}
        ),
    }
    config = {
        "format": FORMAT,
        "model": trained.name,
        "settings": trained.model.settings,
        "max_length": trained.max_length,
        "calibration": None if trained.calibration is None else trained.calibration.as_dict(),
        "training": dict(trained.training),
        "history": dict(trained.history),
        "data": dict(trained.data),
        "subwords": subword_digest() if reads_subwords else None,
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    for name, content in files.items():
        with atomic_write(folder / name) as file:
            file.write(content)
    write_text(folder / CARD, model_card(trained.model, config, results or {}, command, about_data))
    write_text(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Replace the calibration in a model folder; config.json is the only file that is written."""
    config = _read_config(folder)
    config["calibration"] = calibration.as_dict()
    write_text(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def load_model(folder: str | Path, backend: Backend | None = None) -> TrainedModel:
    """Read a model folder, or a ready-made model by its name; nothing in it is executed.

    The model runs on the given library, otherwise on that of `inference_backend`.
    """
    folder = resolve_model(folder)
    config = _read_config(folder)
    contents = {name: _read(folder / name) for name in (TOKENIZER, WEIGHTS)}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != config["sha256"].get(name):
            raise InputError(f"{folder / name} is damaged, or belongs to another model: copy the folder again.")
    name = config["model"]
    if config["subwords"] is not None:
        check_subwords(config["subwords"], folder / SUBWORD_FOLDER, str(folder))
    inputs = model_class(name).input_spec(config["settings"])
    tokenizer = read_tokenizer(contents[TOKENIZER], inputs, str(folder / TOKENIZER))
    try:
        state = load_arrays(contents[WEIGHTS])
        with use_backend(backend or inference_backend()):
            model = build(name, tokenizer.vocab_size, **config["settings"])
            model.prepare_state(state)
        model.load_state_dict(state)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{folder / WEIGHTS} does not fit the model ({error}): copy the folder again.") from None
    calibration = config["calibration"]
    return TrainedModel(
        name,
        model.eval(),
        tokenizer,
        config["max_length"],
        None if calibration is None else Calibration.from_dict(calibration),
        config["training"],
        config["history"],
        config["data"],
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the folder of a saved model.") from None


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    content = _read(path)
    try:
        config = json.loads(content)
    except ValueError:
        raise InputError(f"{path} is damaged (not valid JSON): copy the folder again.") from None
    if not isinstance(config, dict) or not isinstance(config.get("format"), int):
        raise InputError(f"{path} has no format number, so this is not a pairlight model.")
    if config["format"] != FORMAT:
        fix = "install a newer version" if config["format"] > FORMAT else "train the model again"
        raise InputError(f"{folder} has format {config['format']}, and this version reads format {FORMAT}: {fix}.")
    missing = _KEYS - set(config)
    if missing:
        raise InputError(f"{path} is damaged ({', '.join(sorted(missing))} missing): copy the folder again.")
    return config
