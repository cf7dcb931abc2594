"""The ready-made models that ship with the package, by name."""

import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError

SEEN = "training_texts.npy"  # checksums of the texts that a ready-made model was trained on
SHARED = 0.01  # of the texts of a dataset: above this, a ready-made model counts as trained on it
FOLDER = Path(__file__).parent.parent / "ready_made"


def ready_made() -> list[str]:
    """The names of the ready-made models."""
    return sorted(path.name for path in FOLDER.iterdir() if (path / "config.json").is_file()) if FOLDER.is_dir() else []


def trained_on(name: str, texts: Iterable[str]) -> bool:
    """Whether a ready-made model was trained on some of these texts."""
    path = FOLDER / name / SEEN
    if not path.is_file():
        return False
    return bool(np.isin(text_checksums(texts), np.load(path)).mean() > SHARED)


def text_checksums(texts: Iterable[str]) -> NDArray[np.uint32]:
    """The distinct checksums of texts, ascending; case and white space do not count."""
    normal = (" ".join(text.split()).casefold().encode("utf-8", "surrogatepass") for text in texts)
    return np.unique(np.fromiter(map(zlib.crc32, normal), np.uint32))


def find_model(model: str | Path, option: str | None = None) -> Path:
    """The folder of a model, which must be there; `option` names the parameter in the error."""
    path = resolve_model(model)
    if not (path / "config.json").is_file():
        why = "it has no config.json" if path.exists() else "there is no such folder"
        known = ", ".join(ready_made()) or "the ready-made models, once installed"
        raise InputError(
            f"{model} is not a model ({why}): give the folder of a saved model, or one of {known}.", option=option
        )
    return path


def resolve_model(folder: str | Path) -> Path:
    """The folder of a model: a path, or the name of a ready-made model where no such path exists."""
    path = Path(folder)
    if not path.exists() and str(folder) in ready_made():
        return FOLDER / str(folder)
    return path
