"""Packages that are installed with an extra, such as `pip install 'pairlight[train]'`."""

from collections.abc import Iterator
from contextlib import contextmanager

from pairlight.core.errors import InputError

# The extra of each package, by the name that is imported.
EXTRAS = {
    "bm25s": "train",
    "gensim": "train",
    "ir_measures": "train",
    "matplotlib": "plots",
    "optuna": "tune",
    "pyarrow": "parquet",
    "ray": "cluster",
    "scipy": "train",
    "tantivy": "search",
    "torch": "train",
    "uvicorn": "serve",
}


@contextmanager
def naming_extras() -> Iterator[None]:
    """Raise InputError where a package of an extra is missing; it names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise InputError(f"This needs the package {package}: pip install 'pairlight[{EXTRAS[package]}]'.") from None
