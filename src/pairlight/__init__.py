"""pairlight trains small neural models that say how well two texts match, and shows why."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairlight.data.pairs import Pairs
    from pairlight.core.errors import InputError
    from pairlight.matcher import Matcher

__version__ = "0.1.0"
__all__ = ["InputError", "Matcher", "Pairs", "__version__"]

_HOMES = {"Matcher": "pairlight.matcher", "Pairs": "pairlight.data.pairs", "InputError": "pairlight.core.errors"}


def __getattr__(name: str) -> Any:
    """Bring in PyTorch when it is first needed, so that importing pairlight takes no time."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pairlight' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
