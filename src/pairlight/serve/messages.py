"""What handlers are given and return: requests, answers, responses, and routes with what is checked before them."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from pairlight.serve.request_error import RequestError
from pairlight.serve.schemas import Schema

Message = MutableMapping[str, Any]  # of ASGI
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[str, str]]

HTML = "text/html; charset=utf-8"


@dataclass
class Request:
    """What a handler needs of a request."""

    body: Any = None
    path_value: str = ""  # what follows the fixed part of the path
    query: dict[str, list[str]] = field(default_factory=dict)

    def first(self, name: str) -> str | None:
        return self.query.get(name, [None])[0]


@dataclass
class Answer:
    """What is answered as JSON, and what is counted."""

    body: Any
    texts: int = 0
    truncated: int = 0
    model: str | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass
class Response:
    """What is sent, and what is counted of it."""

    content: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Headers = field(default_factory=list)
    answer: Answer | None = None

    @classmethod
    def of(cls, result: "Response | Answer") -> "Response":
        return cls(orjson.dumps(result.body), answer=result) if isinstance(result, Answer) else result

    @classmethod
    def refusal(cls, error: RequestError) -> "Response":
        return cls(orjson.dumps(error.body()), error.status, headers=error.all_headers())


Handler = Callable[[Request], Awaitable[Response | Answer]]


@dataclass(frozen=True)
class Route:
    """A handler with what is checked before it runs."""

    name: str  # the path, as it is logged and documented
    handler: Handler
    schema: Schema | None = None
    is_work: bool = True  # needs the models, and counts towards the limit of requests
    is_open: bool = False  # needs no key


Routes = dict[str, dict[str, Route]]  # by path and method; a path that ends with / is followed by a value
