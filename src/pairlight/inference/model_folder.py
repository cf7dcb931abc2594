"""A trained model as a record, and as a folder: config.json, tokenizer.json, model.safetensors and README.md."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write, write_text
from pairlight.core.records import RecordError, read_record, write_record
from pairlight.evaluation.calibration import Calibration
from pairlight.inference.card import model_card
from pairlight.inference.history import History
from pairlight.inference.ready_made import find_model
from pairlight.inference.scorer import ModelScorer
from pairlight.inference.scoring import to_numpy
from pairlight.layers.backends import Backend, inference_backend, use_backend
from pairlight.layers.layer import check_state
from pairlight.models import build, model_class
from pairlight.models.base import PairModel
from pairlight.text.subwords import SUBWORD_FOLDER, check_subwords, copy_subwords, subword_digest
from pairlight.text.vectors import oov_vectors
from pairlight.text.vocabulary import AnyTokenizer, read_tokenizer

FORMAT = 4
CONFIG, TOKENIZER, WEIGHTS, CARD = "config.json", "tokenizer.json", "model.safetensors", "README.md"
_FIX = "copy the folder again, or train again"
_GIVE = "give the folder of a saved model"

Values = dict[str, bool | int | float | str]


@dataclass(frozen=True)
class DataSummary:
    """The size of a table of pairs, and its checksum."""

    pairs: int
    lists: int
    texts: int
    sha256: str


@dataclass(frozen=True)
class ModelConfig:
    """The contents of config.json."""

    model: str
    settings: Values
    max_length: int
    calibration: Calibration | None
    training: Values
    history: History
    data: dict[str, DataSummary]
    subwords: str | None  # the checksum of the static vectors that the model reads
    files: dict[str, str]  # the checksums of the other files that a model is read from

    def __post_init__(self) -> None:
        if self.max_length < 1:
            raise ValueError(f"max_length is {self.max_length}, not at least 1")
        missing = [name for name in (TOKENIZER, WEIGHTS) if name not in self.files]
        if missing:
            raise ValueError(f"files has no checksum of {missing[0]}")
        for name in self.files:
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
                raise ValueError(f"files has {name!r}, which is outside of the folder")

    def as_dict(self) -> dict[str, Any]:
        return {
            **vars(self),
            "calibration": None if self.calibration is None else self.calibration.as_dict(),
            "history": self.history.as_dict(),
            "data": {part: vars(about) for part, about in self.data.items()},
        }


@dataclass(frozen=True)
class TrainedModel:
    """A model with its vocabulary, its calibration, and how it was trained."""

    name: str
    model: PairModel
    tokenizer: AnyTokenizer
    max_length: int  # words of a text that are read
    calibration: Calibration | None = None
    training: Mapping[str, Any] = field(default_factory=dict)  # the training options
    history: History = field(default_factory=History)
    data: Mapping[str, DataSummary] = field(default_factory=dict)  # of the training and dev pairs

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
    others: Mapping[str, bytes] | None = None,
) -> None:
    """Write a model folder; `results`, `command` and `about_data`, such as a license, go into its card.

    With `include_vectors`, the static vectors of subwords are copied into it, so that it does not depend on the
    version of the package that they come from. `others` are more files by name. config.json is written last.
    """
    reads_subwords = trained.model.reads_subwords or trained.model.inputs.input_kind == "subwords"
    files = {
        TOKENIZER: trained.tokenizer.to_bytes(),
        WEIGHTS: save_arrays(
            {name: np.asarray(to_numpy(x), order="C") for name, x in trained.model.state_dict().items()}
        ),
        **(others or {}),
    }
    if include_vectors and reads_subwords:
        files |= {f"{SUBWORD_FOLDER}/{name}": content for name, content in copy_subwords().items()}
    config = ModelConfig(
        trained.name,
        trained.model.settings,
        trained.max_length,
        trained.calibration,
        dict(trained.training),
        trained.history,
        dict(trained.data),
        subword_digest() if reads_subwords else None,
        {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    )
    for name, content in files.items():
        with atomic_write(folder / name) as file:
            file.write(content)
    write_text(folder / CARD, model_card(trained.model, config.as_dict(), results or {}, command, about_data))
    _write_config(folder, config)


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Replace the calibration in a model folder; config.json is the only file that is written."""
    _write_config(folder, replace(read_config(folder), calibration=calibration))


def load_model(folder: str | Path, backend: Backend | None = None) -> TrainedModel:
    """Read a model folder, or a ready-made model by its name; nothing in it is executed.

    The model runs on the given library, otherwise on that of `inference_backend`.
    """
    folder = find_model(folder)
    config = read_config(folder)
    contents = {name: _read(folder / name, digest) for name, digest in config.files.items()}
    if config.subwords is not None:
        check_subwords(config.subwords, folder / SUBWORD_FOLDER, str(folder))
    inputs = model_class(config.model).input_spec(config.settings)
    tokenizer = read_tokenizer(contents[TOKENIZER], inputs, str(folder / TOKENIZER))
    try:
        state = load_arrays(contents[WEIGHTS])
        with use_backend("numpy"):  # takes no memory until it is written to, however large the settings are
            shapes = build(config.model, tokenizer.vocab_size, **config.settings)
            shapes.prepare_state(state)
        check_state(shapes.state_dict(), state, types=True)
        with use_backend(backend or inference_backend()):
            model = build(config.model, tokenizer.vocab_size, **config.settings)
            model.prepare_state(state)
        model.load_state_dict(state)
    except InputError:
        raise
    except (SafetensorError, ValueError) as error:
        raise RecordError(f"{folder / WEIGHTS} does not fit the model ({error}): {_FIX}.") from None
    return TrainedModel(
        config.model,
        model.eval(),
        tokenizer,
        config.max_length,
        config.calibration,
        config.training,
        config.history,
        config.data,
    )


def _read(path: Path, digest: str) -> bytes:
    """The contents of a file, which must have this checksum."""
    if not path.is_file():
        raise RecordError(f"{path} is missing, or not a file: {_FIX}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error.strerror}): {_GIVE}.") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise RecordError(f"{path} is damaged, or belongs to another model: {_FIX}.")
    return content


def read_config(folder: Path) -> ModelConfig:
    """What a model folder says about its model; the files with the weights are not read."""
    return read_record(folder / CONFIG, ModelConfig, FORMAT, _FIX, give=_GIVE)


def _write_config(folder: Path, config: ModelConfig) -> None:
    write_record(folder / CONFIG, config.as_dict(), FORMAT)
