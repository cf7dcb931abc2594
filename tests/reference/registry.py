"""The registry of references: slow NumPy functions, one per model, each with the settings it is tested with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# (weights by name, settings, left ids, right ids, n-gram table or None) -> score of one pair
Reference = Callable[[dict[str, np.ndarray], dict[str, Any], list[int], list[int], np.ndarray | None], float]

DIM = {"dim": 6}  # small word vectors, for models that read words


@dataclass(frozen=True)
class Case:
    """A model with settings that are small enough for tests."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.settings.items())])


REFERENCES: dict[str, Reference] = {}
CASES: list[Case] = []


def reference(name: str, *cases: dict[str, Any]) -> Callable[[Reference], Reference]:
    """Register a function as the reference of the model `name`, tested with each of these settings."""

    def register(function: Reference) -> Reference:
        REFERENCES[name] = function
        CASES.extend(Case(name, settings) for settings in cases)
        return function

    return register
