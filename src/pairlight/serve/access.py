"""Who may call the server: keys, and pages of other origins (CORS)."""

import hashlib
import hmac
from base64 import b64decode
from collections.abc import Mapping, Sequence

from pairlight.serve.messages import Headers
from pairlight.serve.request_error import RequestError


class Keys:
    """The accepted keys; without one, every request is accepted."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._digests = [_digest(key) for key in keys]

    def check(self, headers: Mapping[str, str], is_page: bool) -> None:
        """Refuse a request without one of the keys; a browser asks its user for the key of a page."""
        if not self._digests:
            return
        digest = _digest(_given(headers.get("authorization", "")))
        # All keys are compared, each in constant time, so that the time says nothing about them.
        if not sum(hmac.compare_digest(digest, key) for key in self._digests):
            raise RequestError(
                "Unauthorized",
                "The key is missing or wrong: send the header `Authorization: Bearer KEY`.",
                (("www-authenticate", f'{"Basic" if is_page else "Bearer"} realm="pairlight"'),),
            )


def cors_headers(headers: Mapping[str, str], allowed: Sequence[str]) -> Headers:
    """The headers that let a page of an allowed origin read the answer."""
    origin = headers.get("origin")
    if origin is None or not ({"*", origin} & set(allowed)):
        return []
    return [
        ("access-control-allow-origin", origin),
        ("access-control-allow-methods", "GET, POST, PUT, DELETE"),
        ("access-control-allow-headers", "authorization, content-type"),
        ("access-control-max-age", "600"),
        ("vary", "origin"),
    ]


def _given(authorization: str) -> str:
    """The key of a header: after Bearer, or the password of a browser's Basic."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            return b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return given.strip()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
