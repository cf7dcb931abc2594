"""One HTTP connection: uvicorn's, with our limits, and with our error body where a request never reaches a route."""

import asyncio
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pairlight.serve.messages import Message, Receive, Response, Send
from pairlight.serve.request_error import RequestError

MAX_CONNECTIONS = 1000  # of a process; requests on further ones are refused
HEADER_SECONDS = 30.0  # to send the headers of a request


class Connection(HttpToolsProtocol):
    """A connection that ends when headers take too long, and answers JSON to what is not HTTP."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._start_clock()
        if len(self.connections) > MAX_CONNECTIONS:
            self.app = _refuse_connection

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self._start_clock()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_clock()
        super().on_headers_complete()

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
        content = Response.refusal(error).content
        status = HTTPStatus(error.status)
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
        head += f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode() + content)
        self.transport.close()


async def _refuse_connection(scope: Message, receive: Receive, send: Send) -> None:
    error = RequestError("Overloaded", f"{MAX_CONNECTIONS} connections are open, which is the limit: try again.")
    response = Response.refusal(error)
    headers: list[Any] = [(name.encode(), value.encode()) for name, value in response.headers]
    headers += [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers += [(b"content-length", str(len(response.content)).encode())]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
