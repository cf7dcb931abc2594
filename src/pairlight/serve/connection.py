"""One HTTP connection: uvicorn's, with our limits, and with our error body where a request never reaches a route."""

import asyncio
from http import HTTPStatus
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pairlight.serve.application import Application
from pairlight.serve.messages import Message, Receive, Response, Send
from pairlight.serve.request_error import RequestError, overloaded

MAX_CONNECTIONS = 1000  # of a process; requests on further ones are refused
HEADER_SECONDS = 30.0  # to send the headers of a request
MAX_HEADER_BYTES = 65_536


class Connection(HttpToolsProtocol):
    """A connection that ends when headers take too long, and answers JSON to what is not HTTP.

    While the queue is full, a request is refused before it becomes a task: there may be many, and each takes time from
    those that are answered.
    """

    _deadline: asyncio.TimerHandle | None = None
    _header_bytes: int | None = None  # of the request whose headers are being read; None if none are
    _refused = False  # the request that is being read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._start_clock()
        if len(self.connections) > MAX_CONNECTIONS:
            self.app = _refuse_connection

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        before = self._header_bytes
        super().data_received(data)
        # The parser keeps headers until they are complete, however many there are.
        if before is not None and self._header_bytes is not None and not self.transport.is_closing():
            self._header_bytes = before + len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                limit = f"{MAX_HEADER_BYTES:,}"
                self._refuse(RequestError("Headers", f"The headers have more than {limit} bytes: send fewer."))

    def on_message_begin(self) -> None:
        self._start_clock()
        self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_clock()
        self._header_bytes = None
        is_free = self.cycle is None or self.cycle.response_complete  # not one of several that were sent at once
        application = cast(Application, self.config.app)
        if is_free and not self.expect_100_continue and application.refuses(self.url):
            self._refused = True
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._refused:
            super().on_message_complete()
            return
        self._refused = False
        self.transport.write(_OVERLOADED)
        if self.parser.should_keep_alive():
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        self._refuse(RequestError("Malformed", "The request is not HTTP/1.1: send a valid request."))

    def _start_clock(self) -> None:
        self._stop_clock()
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _too_slow(self) -> None:
        self._refuse(RequestError("Timeout", f"The headers took more than {HEADER_SECONDS:g} s: send them faster."))

    def _refuse(self, error: RequestError) -> None:
        self.transport.write(_written(error, ("connection", "close")))
        self.transport.close()


def _written(error: RequestError, *headers: tuple[str, str]) -> bytes:
    """The whole answer to a request that is refused."""
    response = Response.refusal(error)
    status = HTTPStatus(response.status)
    fields = [
        *response.headers,
        *headers,
        ("content-type", response.content_type),
        ("content-length", str(len(response.content))),
    ]
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"HTTP/1.1 {status.value} {status.phrase}\r\n{head}\r\n".encode() + response.content


_OVERLOADED = _written(overloaded())


async def _refuse_connection(scope: Message, receive: Receive, send: Send) -> None:
    error = RequestError("Overloaded", f"{MAX_CONNECTIONS} connections are open, which is the limit: try again.")
    response = Response.refusal(error)
    headers: list[Any] = [(name.encode(), value.encode()) for name, value in response.headers]
    headers += [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers += [(b"content-length", str(len(response.content)).encode())]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
