"""The check that the packages of the extra `serve` are installed."""

from importlib.util import find_spec

from pairlight.core.errors import InputError

PACKAGES = ("httptools", "orjson", "prometheus_client", "uvicorn")


def check_installed() -> None:
    """Raise InputError if a package is missing.

    None is imported, because prometheus_client decides at its import how several processes share metrics.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError(f"Serving needs the package {missing[0]}: pip install 'pairlight[serve]'.")
