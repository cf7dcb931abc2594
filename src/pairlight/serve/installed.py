"""The check that the packages of the extra `serve` are installed."""

from pairlight.core.errors import InputError


def check_installed() -> None:
    """Raise InputError if the packages of the extra are missing."""
    try:
        import httptools  # noqa: F401
        import orjson  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(f"Serving needs the package {error.name}: pip install 'pairlight[serve]'.") from None
