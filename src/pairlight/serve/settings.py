"""The settings of a server, with its limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pairlight.core.errors import InputError


@dataclass(frozen=True)
class ServerSettings:
    """What is served, where, and within which limits."""

    models: Sequence[str | Path] = ()
    index: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    keys: tuple[str, ...] = ()  # any of them is accepted; no key is needed if there are none
    cors: tuple[str, ...] = ()  # origins of pages that may call the server; "*" for all
    max_waiting: int = 64  # requests that are worked on or wait, in each worker
    max_texts: int = 1000  # of a request
    max_bytes: int = 2_000_000  # of a body
    max_buffered: int = 64_000_000  # bytes of all bodies that are held at a time
    body_seconds: float = 30.0  # to receive a body
    drain_seconds: int = 30  # to finish requests after SIGTERM

    def __post_init__(self) -> None:
        for origin in self.cors:
            if not _is_origin(origin):
                raise InputError(
                    f"{origin!r} is not an origin: write scheme://host or scheme://host:port, or * for all.",
                    option="cors",
                )


def _is_origin(text: str) -> bool:
    """Whether a browser could send this in its header Origin."""
    try:
        parts = urlsplit(text)
        known = parts.hostname is not None and parts.port != -1  # a port that is no number is an error
    except ValueError:
        return False
    return text in ("*", "null") or (known and text == f"{parts.scheme}://{parts.netloc}")


def read_keys(path: Path) -> tuple[str, ...]:
    """The keys of a file, one in each line; empty lines and lines that start with # are skipped."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read ({error}): give a file with one key in each line.", option="api_key_file"
        ) from None
    keys = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not keys:
        raise InputError(f"{path} has no key: write one in each line.", option="api_key_file")
    return keys
