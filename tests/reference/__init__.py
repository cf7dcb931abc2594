"""Slow NumPy references of the models: plain loops over one pair, without padding.

A module of this package registers the reference of its model with `@reference`; all modules are imported here.
"""

import pkgutil
from importlib import import_module

from reference.registry import CASES, REFERENCES, Case

__all__ = ["CASES", "REFERENCES", "Case"]

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
