"""The server as an ASGI application: routes, keys, limits, answers and the access log."""

import asyncio
import contextlib
import hashlib
import hmac
import time
import traceback
from base64 import b64decode
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import orjson

from pairlight import __version__
from pairlight.core.errors import InputError
from pairlight.explain.data import Comparison
from pairlight.explain.render.html import explanation_page
from pairlight.serve import collection, openapi
from pairlight.serve.backend import Backend
from pairlight.serve.event_log import EventLog
from pairlight.serve.metrics import CONTENT_TYPE, Metrics
from pairlight.serve.request_error import RequestError
from pairlight.serve.rerank import (
    MAX_EXPLAINED,
    Answer,
    predict,
    predict_schema,
    rerank,
    rerank_schema,
    score_pairs,
    score_schema,
)
from pairlight.serve.schemas import Schema, check
from pairlight.serve.search_page import EXPLANATION_POLICY, SearchPage
from pairlight.serve.served_model import PairScores, ServedModel, spans_of
from pairlight.serve.settings import ServerSettings
from pairlight.serve.work_queue import WorkQueue

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[str, str]]


@dataclass
class Request:
    """What a handler needs of a request."""

    body: Any = None
    path_value: str = ""  # what follows the fixed part of the path
    query: dict[str, list[str]] = field(default_factory=dict)

    def first(self, name: str) -> str | None:
        return self.query.get(name, [None])[0]


@dataclass
class Response:
    """What is sent, and what is counted of it."""

    content: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Headers = field(default_factory=list)
    answer: Answer | None = None


Handler = Callable[[Request], Awaitable[Response | Answer]]


@dataclass(frozen=True)
class Route:
    """A handler with what is checked before it runs."""

    name: str
    handler: Handler
    schema: Schema | None = None
    is_work: bool = True  # needs the models, and counts towards the limit of requests
    is_open: bool = False  # needs no key


class Application:
    """Answers requests. Everything that scores or searches runs in the one thread of the work queue."""

    def __init__(self, settings: ServerSettings, backend: Backend, queue: WorkQueue, log: EventLog) -> None:
        self.settings, self.backend, self.queue, self.log = settings, backend, queue, log
        self.metrics = Metrics()
        self.page = SearchPage()
        self.waiting = 0
        self.buffered = 0
        self._keys = [hashlib.sha256(key.encode()).digest() for key in settings.keys]
        texts = settings.max_texts
        reranking, scoring = rerank_schema(texts), score_schema(texts)
        self.routes: dict[str, dict[str, Route]] = {
            "/rerank": {"POST": Route("/rerank", self._rerank(1), reranking)},
            "/v1/rerank": {"POST": Route("/v1/rerank", self._rerank(1), reranking)},
            "/v2/rerank": {"POST": Route("/v2/rerank", self._rerank(2), reranking)},
            "/score": {"POST": Route("/score", self._score, scoring)},
            "/v1/score": {"POST": Route("/v1/score", self._score, scoring)},
            "/predict": {"POST": Route("/predict", self._predict, predict_schema(texts))},
            "/search": {"POST": Route("/search", self._search, collection.SEARCH)},
            "/explain": {"POST": Route("/explain", self._explain, collection.EXPLAIN)},
            "/documents": {
                "PUT": Route("/documents", self._put_documents, collection.PUT_DOCUMENTS),
                "DELETE": Route("/documents", self._delete_documents, collection.DELETE_DOCUMENTS),
            },
            "/documents/": {"DELETE": Route("/documents/{id}", self._delete_document)},
            "/": {"GET": Route("/", self._search_page)},
            "/explanation": {"GET": Route("/explanation", self._explanation_page)},
            "/health": {"GET": Route("/health", self._health, is_work=False, is_open=True)},
            "/info": {"GET": Route("/info", self._info, is_work=False)},
            "/metrics": {"GET": Route("/metrics", self._metrics, is_work=False)},
            "/openapi.json": {"GET": Route("/openapi.json", self._openapi, is_work=False)},
            "/docs": {"GET": Route("/docs", self._docs, is_work=False)},
        }

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        name, held = "unknown", 0
        response: Response | None = None
        try:
            route, path_value = self._route(scope)
            name = route.name if route is not None else "preflight"
            if route is None:
                response = Response(b"", 204)
            else:
                self._check_key(route, headers, scope["path"])
                body = await self._read(headers, receive)
                held = len(body)
                query = parse_qs(scope["query_string"].decode("latin-1"))
                response = await self._handle(route, Request(body, path_value, query), receive)
        except RequestError as refusal:
            response = _refused(refusal)
        finally:
            self.buffered -= held
        if response is None:  # the client has gone
            self._record(scope, name, 499, started, held, None)
            return
        await self._send(scope, headers, response, send)
        self._record(scope, name, response.status, started, held, response.answer)

    def _route(self, scope: Message) -> tuple[Route | None, str]:
        """The route of a request and the rest of its path; None for the question of a browser about CORS."""
        path, method = scope["path"], scope["method"].replace("HEAD", "GET")
        key = "/documents/" if path.startswith("/documents/") and path != "/documents/" else path
        if key not in self.routes or path == "/documents/":
            raise RequestError("NotFound", "There is no such path: see /docs.")
        if method == "OPTIONS" and self.settings.cors:
            return None, ""
        allowed = self.routes[key]
        if method not in allowed:
            methods = ", ".join(allowed)
            message = f"This path does not support {method[:20]}: use {methods}."
            raise RequestError("Method", message, (("allow", methods),))
        return allowed[method], path.removeprefix(key) if key == "/documents/" else ""

    def _check_key(self, route: Route, headers: dict[str, str], path: str) -> None:
        if not self._keys or route.is_open:
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":  # a browser that has asked for the key of the search page
            try:
                given = b64decode(given, validate=True).decode().partition(":")[2]
            except ValueError:
                given = ""
        digest = hashlib.sha256(given.strip().encode("utf-8", "surrogateescape")).digest()
        # All keys are compared, each in constant time, so that the time says nothing about them.
        if not sum(hmac.compare_digest(digest, key) for key in self._keys):
            challenge = "Basic" if path in ("/", "/docs", "/explanation") else "Bearer"
            raise RequestError(
                "Unauthorized",
                "The key is missing or wrong: send the header `Authorization: Bearer KEY`.",
                (("www-authenticate", f'{challenge} realm="pairlight"'),),
            )

    async def _read(self, headers: dict[str, str], receive: Receive) -> bytes:
        """The body of a request, within the limits of one body and of all together."""
        limit = self.settings.max_bytes
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > limit:
            await self._discard(receive)
            raise _too_large(int(announced), limit)
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RequestError("Timeout", "The client has gone.")
                    part = message.get("body", b"")
                    if len(body) + len(part) > limit:
                        if message.get("more_body", False):
                            await self._discard(receive)
                        raise _too_large(len(body) + len(part), limit)
                    if self.buffered + len(part) > self.settings.max_buffered:
                        raise RequestError("Overloaded", "The server holds too many bodies: try again.", _CLOSE)
                    body += part
                    self.buffered += len(part)
                    more = message.get("more_body", False)
        except TimeoutError:
            self.buffered -= len(body)
            seconds = self.settings.body_seconds
            raise RequestError("Timeout", f"The body took more than {seconds:g} s: send it faster.", _CLOSE) from None
        except RequestError:
            self.buffered -= len(body)
            raise
        return bytes(body)

    async def _discard(self, receive: Receive) -> None:
        """Read what is left of a body that is too large, within limits: many clients read no answer before."""
        left, more = _DISCARDED * self.settings.max_bytes, True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DISCARD_SECONDS):
                while more and left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    more = message.get("more_body", False)

    async def _handle(self, route: Route, request: Request, receive: Receive) -> Response | None:
        """Run the handler, unless the client goes before it has finished: then the rest of the work is cancelled."""
        if not route.is_work:
            return _response(await route.handler(request))
        if not self.backend.is_ready:
            raise RequestError("Unhealthy", "The models are being loaded: try again.")
        if self.waiting >= self.settings.max_waiting:
            raise RequestError("Overloaded", f"{self.waiting} requests are waiting, which is the limit: try again.")
        request.body = _parsed(request.body, route.schema)
        self.waiting += 1
        self.metrics.waiting.inc()
        work = asyncio.ensure_future(route.handler(request))
        gone = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            return _response(work.result()) if work.done() else None
        except RequestError as refusal:
            return _refused(refusal)
        except InputError as error:
            return _refused(RequestError("Validation", str(error)))
        except Exception as error:
            # Its message could have a text, so only its kind and place are logged.
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.name}, line {place.lineno}"
            self.log.write({"event": "error", "route": route.name, "error": type(error).__name__, "in": where})
            return _refused(RequestError("Internal", "The server has failed with this request; its log has more."))
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
            *self._cors_headers(headers),
        ]
        if response.answer is not None and response.answer.truncated:
            fields.append(("x-truncated-texts", str(response.answer.truncated)))
        encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in fields]
        await send({"type": "http.response.start", "status": response.status, "headers": encoded})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else response.content})

    def _cors_headers(self, headers: dict[str, str]) -> Headers:
        origin = headers.get("origin")
        if origin is None or not ({"*", origin} & set(self.settings.cors)):
            return []
        return [
            ("access-control-allow-origin", origin),
            ("access-control-allow-methods", "GET, POST, PUT, DELETE"),
            ("access-control-allow-headers", "authorization, content-type"),
            ("access-control-max-age", "600"),
            ("vary", "origin"),
        ]

    def _record(
        self, scope: Message, route: str, status: int, started: float, size: int, answer: Answer | None
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

    def _rerank(self, version: int) -> Handler:
        async def handler(request: Request) -> Answer:
            model = self.backend.model(request.body.get("model"))
            return await rerank(request.body, model, version, self._score_texts, self._find_spans)

        return handler

    async def _score(self, request: Request) -> Answer:
        return await score_pairs(request.body, self.backend.model(request.body.get("model")), self._score_texts)

    async def _predict(self, request: Request) -> Answer:
        return await predict(request.body, self.backend.model(None), self._score_texts)

    async def _search(self, request: Request) -> Answer:
        return await self.search(request.body)

    async def search(self, body: dict[str, Any]) -> Answer:
        """Search the index, with the spans of the best hits if they are asked for."""
        self.backend.opened_index()
        model = self.backend.named_model(body.get("model")) if self.backend.models else None
        options = collection.search_options(body)
        results = await _wait(self.queue.call(lambda: self.backend.search(model, body["query"], options)))
        found = results.as_dict() | {"model": None if model is None else model.name}
        if body.get("relevant_spans") and model is not None:
            for hit in found["hits"][:MAX_EXPLAINED]:
                spans = await self._find_spans(model, body["query"], hit["passage"]["text"])
                start = hit["passage"]["start"]
                hit["relevant_spans"] = [
                    {**span, "start": span["start"] + start, "end": span["end"] + start} for span in spans
                ]
        return Answer(found, results.candidates, 0, found["model"])

    async def _explain(self, request: Request) -> Answer:
        body = request.body
        texts = body["texts"] if "texts" in body else [body["text"]]
        model = self.backend.named_model(body.get("model"))
        found = await _wait(self.queue.call(lambda: model.explain(body["query"], texts)))
        record = found.as_dict()
        explanations = found.explanations if isinstance(found, Comparison) else (found,)
        for each, explanation in zip(record.get("explanations", [record]), explanations, strict=True):
            each["relevant_spans"] = spans_of(explanation)
        return Answer(record, len(texts), 0, model.name)

    async def _put_documents(self, request: Request) -> Answer:
        self.backend.opened_index()
        changed = await _wait(self.backend.put_documents(request.body["documents"]))
        return Answer({"updated": changed})

    async def _delete_documents(self, request: Request) -> Answer:
        self.backend.opened_index()
        return Answer({"deleted": await _wait(self.backend.delete_documents(request.body["ids"]))})

    async def _delete_document(self, request: Request) -> Answer:
        self.backend.opened_index()
        deleted = await _wait(self.backend.delete_documents([request.path_value]))
        if not deleted:
            raise RequestError("NotFound", "The index has no document with this id.")
        return Answer({"deleted": deleted})

    async def _search_page(self, request: Request) -> Response:
        """The page; with `?q=`, it has the results already, so that it works without JavaScript."""
        query = (request.first("q") or "").strip()
        models: list[str | None] = list(request.query.get("model", [])[:2] or list(self.backend.models)[:1]) or [None]
        columns: list[Any] = []
        problem = None
        if query:
            try:
                check(query, collection.SEARCH["properties"]["query"], "q")
                columns = [(await self.search({"query": query, "model": name})).body for name in models]
            except RequestError as refusal:
                problem = refusal.message
        examples = [] if self.backend.index is None else await _wait(self.queue.call(self._examples))
        size = None if self.backend.index is None else len(self.backend.index)
        content = self.page.html(query, list(self.backend.models), models, columns, examples, size, problem)
        return Response(content, content_type="text/html; charset=utf-8", headers=self.page.headers)

    def _examples(self) -> list[str]:
        return self.page.examples(self.backend.opened_index())

    async def _explanation_page(self, request: Request) -> Response:
        """Why a document of the index matches, or why one ranks above another: the page of `explain --html`."""
        query, ids = (request.first("q") or "").strip(), request.query.get("id", [])[: collection.MAX_COMPARED]
        check({"query": query, "texts": ids}, collection.EXPLAIN)
        model = self.backend.named_model(request.first("model"))
        content = await _wait(self.queue.call(lambda: self._explained(model, query, ids)))
        policy = [("content-security-policy", EXPLANATION_POLICY)]
        return Response(content, content_type="text/html; charset=utf-8", headers=policy)

    def _explained(self, model: ServedModel, query: str, ids: Sequence[str]) -> bytes:
        documents = self.backend.opened_index().documents.lookup(list(ids))
        missing = [each for each in ids if each not in documents]
        if missing:
            raise RequestError("NotFound", f"The index has no document {missing[0][:60]!r}.")
        found = model.explain(query, [documents[each].text for each in ids])
        explanations = found.explanations if isinstance(found, Comparison) else (found,)
        return explanation_page(explanations).encode("utf-8", "replace")

    async def _health(self, request: Request) -> Response:
        if not self.backend.is_ready:
            raise RequestError("Unhealthy", "The models are being loaded: try again.")
        return Response(orjson.dumps({"status": "ok"}))

    async def _info(self, request: Request) -> Response:
        models = list(self.backend.models.values())
        first = models[0] if models else None
        index = self.backend.index
        info = {
            "model_id": None if first is None else first.name,
            "model_sha": None if first is None else first.matcher.scorer.fingerprint(),
            "model_dtype": "float32",
            "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
            "max_concurrent_requests": self.settings.max_waiting,
            "max_input_length": 0 if first is None else first.max_length,
            "max_client_batch_size": self.settings.max_texts,
            "auto_truncate": True,
            "version": __version__,
            "models": [
                {"name": each.name, "kind": each.matcher.name, "max_length": each.max_length} for each in models
            ],
            "index": None if index is None else {"documents": len(index), "first_stage": index.manifest.first_stage},
        }
        return Response(orjson.dumps(info))

    async def _metrics(self, request: Request) -> Response:
        return Response(self.metrics.page(), content_type=CONTENT_TYPE)

    async def _openapi(self, request: Request) -> Response:
        return Response(orjson.dumps(openapi.document(self.routes)))

    async def _docs(self, request: Request) -> Response:
        policy = [("content-security-policy", openapi.PAGE_POLICY)]
        content = openapi.page(openapi.document(self.routes)).encode()
        return Response(content, content_type="text/html; charset=utf-8", headers=policy)

    async def _score_texts(self, model: ServedModel, left: Sequence[str], right: Sequence[str]) -> PairScores:
        parts = await asyncio.gather(*map(asyncio.wrap_future, self.queue.score(model, left, right)))
        return PairScores.join(parts)

    async def _find_spans(self, model: ServedModel, query: str, text: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await _wait(self.queue.call(lambda: model.relevant_spans(query, text)))
        return found


_DISCARDED, _DISCARD_SECONDS = 4, 2.0  # what is read of a body that is too large: times the limit, and for how long
_CLOSE = (("connection", "close"),)


async def _wait(future: "Future[Any]") -> Any:
    return await asyncio.wrap_future(future)


def _too_large(size: int, limit: int) -> RequestError:
    return RequestError("TooLarge", f"The body has {size:,} bytes or more: send at most {limit:,}.", _CLOSE)


def _parsed(body: bytes, schema: Schema | None) -> Any:
    if schema is None:
        return None
    try:
        value = orjson.loads(body)
    except ValueError as error:
        raise RequestError("Validation", f"The body is not JSON ({error}): send an object.") from None
    check(value, schema)
    return value


def _response(result: Response | Answer) -> Response:
    return Response(orjson.dumps(result.body), answer=result) if isinstance(result, Answer) else result


def _refused(refusal: RequestError) -> Response:
    return Response(orjson.dumps(refusal.body()), refusal.status, headers=refusal.all_headers())
