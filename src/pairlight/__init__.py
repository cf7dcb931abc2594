"""pairlight: text matching models that score, rank and explain pairs of texts on a CPU."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairlight.core.errors import InputError
    from pairlight.data.collection import Collection, read_collection
    from pairlight.data.pairs import Pairs
    from pairlight.data.readers import read_pairs
    from pairlight.datasets.catalog import load_dataset
    from pairlight.evaluation.calibration import Calibration
    from pairlight.evaluation.evaluate import evaluate_scores
    from pairlight.evaluation.result import EvaluationResult
    from pairlight.explain.data import Comparison, Contributions, Explanation
    from pairlight.inference.encodings import Encodings
    from pairlight.inference.scorer import Scorer
    from pairlight.matcher import Matcher
    from pairlight.models import MODELS
    from pairlight.text.inputs import InputSpec
    from pairlight.training.config import TrainingConfig

__version__ = "0.1.0"
__all__ = [
    "MODELS",
    "Calibration",
    "Collection",
    "Comparison",
    "Contributions",
    "Encodings",
    "EvaluationResult",
    "Explanation",
    "InputError",
    "InputSpec",
    "Matcher",
    "Pairs",
    "Scorer",
    "TrainingConfig",
    "__version__",
    "evaluate_scores",
    "load_dataset",
    "read_collection",
    "read_pairs",
]

_MODULES = {
    "MODELS": "models",
    "Calibration": "evaluation.calibration",
    "Collection": "data.collection",
    "Comparison": "explain.data",
    "Contributions": "explain.data",
    "Encodings": "inference.encodings",
    "EvaluationResult": "evaluation.result",
    "Explanation": "explain.data",
    "InputError": "core.errors",
    "InputSpec": "text.inputs",
    "Matcher": "matcher",
    "Pairs": "data.pairs",
    "Scorer": "inference.scorer",
    "TrainingConfig": "training.config",
    "evaluate_scores": "evaluation.evaluate",
    "load_dataset": "datasets.catalog",
    "read_collection": "data.collection",
    "read_pairs": "data.readers",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import pairlight` is fast and loads no PyTorch."""
    if name not in _MODULES:
        raise AttributeError(f"module 'pairlight' has no attribute {name!r}")
    return getattr(import_module(f"pairlight.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
