"""pairlight: text matching models that score, rank and explain pairs of texts on a CPU."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pairlight.core.fork import work_after_fork

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
    from pairlight.search.documents import Document
    from pairlight.search.first_stage import Candidate, FirstStage
    from pairlight.search.index import Index
    from pairlight.search.results import SearchHit, SearchResults
    from pairlight.search.searcher import Searcher
    from pairlight.text.inputs import InputSpec
    from pairlight.training.config import TrainingConfig

__version__ = "0.1.0"
__all__ = [
    "MODELS",
    "Calibration",
    "Candidate",
    "Collection",
    "Comparison",
    "Contributions",
    "Document",
    "Encodings",
    "EvaluationResult",
    "Explanation",
    "FirstStage",
    "Index",
    "InputError",
    "InputSpec",
    "Matcher",
    "Pairs",
    "Scorer",
    "SearchHit",
    "SearchResults",
    "Searcher",
    "TrainingConfig",
    "__version__",
    "evaluate_scores",
    "load_dataset",
    "read_collection",
    "read_pairs",
]

_MODULES = {
    "Calibration": "evaluation.calibration",
    "Candidate": "search.first_stage",
    "Collection": "data.collection",
    "Comparison": "explain.data",
    "Contributions": "explain.data",
    "Document": "search.documents",
    "Encodings": "inference.encodings",
    "EvaluationResult": "evaluation.result",
    "Explanation": "explain.data",
    "FirstStage": "search.first_stage",
    "Index": "search.index",
    "InputError": "core.errors",
    "InputSpec": "text.inputs",
    "MODELS": "models",
    "Matcher": "matcher",
    "Pairs": "data.pairs",
    "Scorer": "inference.scorer",
    "SearchHit": "search.results",
    "SearchResults": "search.results",
    "Searcher": "search.searcher",
    "TrainingConfig": "training.config",
    "evaluate_scores": "evaluation.evaluate",
    "load_dataset": "datasets.catalog",
    "read_collection": "data.collection",
    "read_pairs": "data.readers",
}


work_after_fork()


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import pairlight` is fast and loads no PyTorch."""
    if name not in _MODULES:
        raise AttributeError(f"module 'pairlight' has no attribute {name!r}")
    return getattr(import_module(f"pairlight.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
