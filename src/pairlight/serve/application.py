"""The server as an ASGI application: finds the route, checks what comes before it, runs it, answers and logs."""

import asyncio
import errno
import time
import traceback
from typing import Any
from urllib.parse import parse_qs

import orjson

from pairlight.core.errors import InputError
from pairlight.serve.about import about_routes
from pairlight.serve.access import Hosts, Keys, cors_headers
from pairlight.serve.backend import Backend
from pairlight.serve.body_reader import BodyReader, DisconnectedError
from pairlight.serve.collection import WITH_ID, collection_routes
from pairlight.serve.event_log import EventLog
from pairlight.serve.messages import Answer, Message, Receive, Request, Response, Route, Routes, Send
from pairlight.serve.metrics import Metrics
from pairlight.serve.pages import page_routes
from pairlight.serve.request_error import STATUS, RequestError, overloaded
from pairlight.serve.rerank import rerank_routes
from pairlight.serve.schemas import Schema, check
from pairlight.serve.settings import ServerSettings
from pairlight.serve.work_queue import WorkQueue

_GONE = 499  # what nginx logs for a client that has disconnected
_PAGES = ("/", "/docs", "/explanation")


class Application:
    """Answers requests. Everything that scores or searches runs in the one thread of the work queue."""

    def __init__(self, settings: ServerSettings, backend: Backend, queue: WorkQueue, log: EventLog) -> None:
        self.settings, self.backend, self.queue, self.log = settings, backend, queue, log
        self.metrics = Metrics()
        self.waiting = 0
        self._keys, self._hosts, self._bodies = Keys(settings.keys), Hosts(settings), BodyReader(settings)
        self.routes: Routes = rerank_routes(settings.max_texts, backend, queue)
        self.routes |= collection_routes(backend, queue) | page_routes(backend, queue)
        self.routes |= about_routes(settings, backend, self.metrics, self.routes)
        self._working = {
            path for path, methods in self.routes.items() if all(each.is_work for each in methods.values())
        }
        self._refused = 0  # unread, since the last line in the log

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        name, size = "unknown", 0
        try:
            route, path_value = self._route(scope)
            if route is None:
                name, response = "preflight", Response(b"", 204)
            else:
                name = route.name
                if not route.is_open:
                    self._hosts.check(headers)
                    self._keys.check(headers, name in _PAGES)
                async with self._bodies.body(headers, receive) as body:
                    size = len(body)
                    query = parse_qs(scope["query_string"].decode("latin-1"))
                    response = await self._handle(route, Request(body, path_value, query), receive)
        except RequestError as refusal:
            response = Response.refusal(refusal)
        except InputError as error:
            response = Response.refusal(RequestError("Validation", str(error)))
        except DisconnectedError:
            self._record(scope, name, _GONE, started, size)
            return
        except Exception as error:
            self._log_failure(name, error)
            failure = RequestError("Internal", "The server has failed with this request; its log has more.")
            response = Response.refusal(_no_space(error) or failure)
        await self._send(scope, headers, response, send)
        self._record(scope, name, response.status, started, size, response.answer)

    @property
    def is_full(self) -> bool:
        """Whether as many requests are worked on or wait as there may be."""
        return self.waiting >= self.settings.max_waiting

    def refuses(self, url: bytes) -> bool:
        """Whether a request to this address can be refused unread; these are counted, and logged once a second."""
        if not self.is_full or self.settings.cors:  # pages of other origins need headers to read the refusal
            return False
        name = url.partition(b"?")[0].decode("latin-1")
        if name not in self._working:
            return False
        self.metrics.requests.labels(name, str(STATUS["Overloaded"])).inc()
        if not self._refused:
            asyncio.get_running_loop().call_later(1.0, self._log_refused)
        self._refused += 1
        return True

    def _log_refused(self) -> None:
        self.log.write({"event": "refused", "status": STATUS["Overloaded"], "requests": self._refused})
        self._refused = 0

    def _route(self, scope: Message) -> tuple[Route | None, str]:
        """The route of a request and the rest of its path; None for the question of a browser about CORS."""
        path, method = scope["path"], scope["method"].replace("HEAD", "GET")
        key, value = (WITH_ID, path.removeprefix(WITH_ID)) if path.startswith(WITH_ID) else (path, "")
        allowed = self.routes.get(key)
        if allowed is None or path == WITH_ID:
            raise RequestError("NotFound", "There is no such path: see /docs.")
        if method == "OPTIONS" and self.settings.cors:
            return None, ""
        if method not in allowed:
            methods = ", ".join(allowed)
            message = f"This path does not support {method[:20]}: use {methods}."
            raise RequestError("Method", message, (("allow", methods),))
        return allowed[method], value

    async def _handle(self, route: Route, request: Request, receive: Receive) -> Response:
        """Run the handler, unless the client goes before it has finished: then the rest of the work is cancelled."""
        if not route.is_work:
            return Response.of(await route.handler(request))
        if not self.backend.is_ready:
            raise RequestError("Unhealthy", "The models are being loaded: try again.")
        if self.is_full:
            raise overloaded()
        request.body = _parsed(request.body, route.schema)
        self.waiting += 1
        self.metrics.waiting.inc()
        work = asyncio.ensure_future(route.handler(request))
        gone = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise DisconnectedError
            return Response.of(work.result())
        finally:
            self.waiting -= 1
            self.metrics.waiting.dec()
            work.cancel()
            gone.cancel()

    async def _send(self, scope: Message, headers: dict[str, str], response: Response, send: Send) -> None:
        fields = [
            ("content-type", response.content_type),
            ("content-length", str(len(response.content))),
            ("x-content-type-options", "nosniff"),
            *response.headers,
            *cors_headers(headers, self.settings.cors),
        ]
        if response.answer is not None and response.answer.truncated:
            fields.append(("x-truncated-texts", str(response.answer.truncated)))
        encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in fields]
        await send({"type": "http.response.start", "status": response.status, "headers": encoded})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else response.content})

    def _log_failure(self, route: str, error: Exception) -> None:
        # Its message could have a text, so only its kind and place are logged.
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.name}, line {place.lineno}"
        self.log.write({"event": "error", "route": route, "error": type(error).__name__, "in": where})

    def _record(
        self, scope: Message, route: str, status: int, started: float, size: int, answer: Answer | None = None
    ) -> None:
        seconds = time.perf_counter() - started
        self.metrics.requests.labels(route, str(status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        event = {
            "event": "request",
            "method": scope["method"][:10],
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 2),
            "bytes": size,
            "client": (scope.get("client") or [None])[0],
        }
        if answer is not None:
            event |= {"model": answer.model, "texts": answer.texts, "truncated": answer.truncated}
            if answer.model is not None:
                self.metrics.texts.labels(answer.model).inc(answer.texts)
            self.metrics.truncated.inc(answer.truncated)
        self.log.write(event)


def _no_space(error: Exception) -> RequestError | None:
    """The refusal of a change that finds no space on the disk of the index."""
    if not isinstance(error, OSError) or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return None
    return RequestError("Storage", f"The change was not made ({error.strerror}): free some space, and send it again.")


def _parsed(body: bytearray, schema: Schema | None) -> Any:
    if schema is None:
        return None
    try:
        value = orjson.loads(body)
    except ValueError as error:
        raise RequestError("Validation", f"The body is not JSON ({error}): send an object.") from None
    check(value, schema)
    return value
