"""Our own endpoints: search, explanations, and changes of documents."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pairlight.explain.data import Comparison
from pairlight.search.documents import MAX_FILTER, MAX_ID
from pairlight.search.searcher import FIRST, TOP
from pairlight.serve.backend import Backend
from pairlight.serve.messages import Answer, Request, Route, Routes
from pairlight.serve.request_error import RequestError
from pairlight.serve.rerank import MAX_EXPLAINED, relevant_spans
from pairlight.serve.schemas import BOOLEAN, NAME, NUMBER, QUERY, Schema, count, listed
from pairlight.serve.served_model import spans_of
from pairlight.serve.work_queue import WorkQueue

WITH_ID = "/documents/"  # the path of one document, before its id
MAX_FIRST = 1000  # candidates of a search
MAX_COMPARED = 10  # texts of an explanation
MAX_CHANGED = 1000  # documents of a request
MAX_FILTERS, MAX_VALUES = 20, 100  # fields of a filter, and values of each
_FILTER: Schema = {"type": "string", "maxLength": MAX_FILTER}
_ID: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
_TEXT = QUERY  # a document that is indexed has at least one word

SEARCH: Schema = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": QUERY,
        "model": NAME,
        "top": count(1, MAX_FIRST, default=TOP),
        "first": count(1, MAX_FIRST, default=FIRST),
        "first_stage": NAME,
        "offset": count(0, MAX_FIRST, default=0),
        "threshold": NUMBER,
        "where": {
            "type": ["object", "null"],
            "maxProperties": MAX_FILTERS,
            "propertyNames": {"maxLength": MAX_FILTER},
            "additionalProperties": {"anyOf": [_FILTER, listed(_FILTER, MAX_VALUES)]},
        },
        "relevant_spans": BOOLEAN,
    },
}
EXPLAIN: Schema = {
    "type": "object",
    "required": ["query"],
    "anyOf": [{"required": ["text"]}, {"required": ["texts"]}],
    "properties": {"query": QUERY, "text": QUERY, "texts": listed(QUERY, MAX_COMPARED), "model": NAME},
}
PUT_DOCUMENTS: Schema = {
    "type": "object",
    "required": ["documents"],
    "properties": {
        "documents": listed(
            {"type": "object", "required": ["id", "text"], "properties": {"id": _ID, "text": _TEXT}}, MAX_CHANGED
        )
    },
}
DELETE_DOCUMENTS: Schema = {
    "type": "object",
    "required": ["ids"],
    "properties": {"ids": listed(_ID, MAX_CHANGED)},
}


def collection_routes(backend: Backend, queue: WorkQueue) -> Routes:
    """Search, explanations and changes of documents."""

    async def find(request: Request) -> Answer:
        return await search(request.body, backend, queue)

    async def explain(request: Request) -> Answer:
        body = request.body
        texts = body["texts"] if "texts" in body else [body["text"]]
        model = backend.named_model(body.get("model"))
        found = await queue.run(lambda: model.explain(body["query"], texts))
        record = found.as_dict()
        explanations = found.explanations if isinstance(found, Comparison) else (found,)
        for each, explanation in zip(record.get("explanations", [record]), explanations, strict=True):
            each["relevant_spans"] = spans_of(explanation.right, explanation.contributions[0])
        return Answer(record, len(texts), 0, model.name)

    async def put(request: Request) -> Answer:
        return Answer({"updated": await asyncio.wrap_future(backend.put_documents(request.body["documents"]))})

    async def delete_ids(ids: Sequence[str]) -> Answer:
        return Answer({"deleted": await asyncio.wrap_future(backend.delete_documents(ids))})

    async def delete(request: Request) -> Answer:
        return await delete_ids(request.body["ids"])

    async def delete_one(request: Request) -> Answer:
        answer = await delete_ids([request.path_value])
        if not answer.body["deleted"]:
            raise RequestError("NotFound", "The index has no document with this id.")
        return answer

    return {
        "/search": {"POST": Route("/search", find, SEARCH)},
        "/explain": {"POST": Route("/explain", explain, EXPLAIN)},
        "/documents": {
            "PUT": Route("/documents", put, PUT_DOCUMENTS),
            "DELETE": Route("/documents", delete, DELETE_DOCUMENTS),
        },
        WITH_ID: {"DELETE": Route(f"{WITH_ID}{{id}}", delete_one)},
    }


async def search(body: Mapping[str, Any], backend: Backend, queue: WorkQueue) -> Answer:
    """Search the index, with the spans of the best hits if they are asked for."""
    backend.opened_index()
    model = backend.named_model(body.get("model")) if backend.models else None
    options = search_options(body)
    results = await queue.run(lambda: backend.search(model, body["query"], options, body.get("first_stage")))
    found = results.as_dict() | {"model": None if model is None else model.name}
    if body.get("relevant_spans") and model is not None:
        for hit in found["hits"][:MAX_EXPLAINED]:
            start = hit["passage"]["start"]
            spans = await relevant_spans(queue, model, body["query"], hit["passage"]["text"])
            hit["relevant_spans"] = [
                {**span, "start": span["start"] + start, "end": span["end"] + start} for span in spans
            ]
    return Answer(found, results.candidates, results.truncated, found["model"])


def search_options(body: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a search; null stands for the default."""
    names = ("top", "first", "offset", "threshold", "where")
    options = {name: body[name] for name in names if body.get(name) is not None}
    return {name: int(value) if name in ("top", "first", "offset") else value for name, value in options.items()}
