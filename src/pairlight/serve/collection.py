"""Our own endpoints on a collection: the bodies of search, explanation and changes of documents."""

from collections.abc import Mapping
from typing import Any

from pairlight.search.documents import MAX_ID
from pairlight.search.searcher import FIRST, TOP
from pairlight.serve.schemas import BOOLEAN, NAME, NUMBER, QUERY, Schema, count, listed

MAX_FIRST = 1000  # candidates of a search
MAX_COMPARED = 10  # texts of an explanation
MAX_CHANGED = 1000  # documents of a request
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
        "offset": count(0, MAX_FIRST, default=0),
        "threshold": NUMBER,
        "where": {
            "type": ["object", "null"],
            "additionalProperties": {"anyOf": [{"type": "string"}, listed({"type": "string"}, 100)]},
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


def search_options(body: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a search; null stands for the default."""
    names = ("top", "first", "offset", "threshold", "where")
    options = {name: body[name] for name in names if body.get(name) is not None}
    return {name: int(value) if name in ("top", "first", "offset") else value for name, value in options.items()}
