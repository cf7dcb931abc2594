"""Who may call the server: keys, host names, and pages of other origins (CORS)."""

import hashlib
import hmac
from base64 import b64decode
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from pairlight.serve.messages import Headers
from pairlight.serve.request_error import RequestError
from pairlight.serve.settings import ServerSettings

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


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


class Hosts:
    """The names under which a server may be called.

    A page of another site can give its own host name the address of this machine (DNS rebinding), and then call a
    server that listens only here. Without a key to stop it, such a server answers only to the names of this machine and
    to those of the allowed origins.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._checks = not settings.keys and settings.host in _LOOPBACK and "*" not in settings.cors
        self._names = {*_LOOPBACK, *(urlsplit(origin).hostname for origin in settings.cors)}

    def check(self, headers: Mapping[str, str]) -> None:
        """Refuse a request to another name."""
        if not self._checks or "host" not in headers:
            return
        try:
            name = urlsplit(f"//{headers['host']}").hostname
        except ValueError:
            name = None
        if name not in self._names:
            raise RequestError(
                "Misdirected",
                "The header Host names another server: call this one by localhost, or start it with a key.",
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
