"""Reads bodies of requests, within the limits of one body and of all together."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from pairlight.serve.messages import Receive
from pairlight.serve.request_error import RequestError
from pairlight.serve.settings import ServerSettings

_DISCARDED, _DISCARD_SECONDS = 4, 2.0  # what is read of a body that is too large: times the limit, and for how long
_CLOSE = (("connection", "close"),)


class DisconnectedError(Exception):
    """The client has disconnected: nobody waits for an answer."""


class BodyReader:
    """Bodies that are held at a time, by all requests."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.held = 0  # bytes

    @contextlib.asynccontextmanager
    async def body(self, headers: Mapping[str, str], receive: Receive) -> AsyncIterator[bytearray]:
        """The body of a request, which counts as held until the end of the context."""
        content = bytearray()
        try:
            await self._read(content, headers, receive)
            yield content
        finally:
            self.held -= len(content)

    async def _read(self, content: bytearray, headers: Mapping[str, str], receive: Receive) -> None:
        limit = self.settings.max_bytes
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > limit:
            await self._discard(receive)
            raise _too_large(int(announced), limit)
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise DisconnectedError
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size = len(content) + len(part)
                    if size > limit:
                        if more:
                            await self._discard(receive)
                        raise _too_large(size, limit)
                    if self.held + len(part) > self.settings.max_buffered:
                        raise RequestError("Overloaded", "The server holds too many bodies: try again.", _CLOSE)
                    content += part
                    self.held += len(part)
        except TimeoutError:
            seconds = self.settings.body_seconds
            raise RequestError("Timeout", f"The body took more than {seconds:g} s: send it faster.", _CLOSE) from None

    async def _discard(self, receive: Receive) -> None:
        """Read what is left of a body that is too large, within limits: many clients read no answer before."""
        left, more = _DISCARDED * self.settings.max_bytes, True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DISCARD_SECONDS):
                while more and left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    more = message.get("more_body", False)


def _too_large(size: int, limit: int) -> RequestError:
    return RequestError("TooLarge", f"The body has {size:,} bytes or more: send at most {limit:,}.", _CLOSE)
