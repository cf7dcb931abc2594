"""The description of the API as OpenAPI 3.1, and a page of it that loads nothing external."""

import html
import json
from collections.abc import Mapping
from typing import Any

from pairlight import __version__
from pairlight.search.documents import MAX_ID
from pairlight.serve.messages import Route, Routes

PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
SUMMARIES = {
    "/rerank": "Rank texts for a query, as TEI (`texts`) or as Cohere, Jina, vLLM and infinity do (`documents`).",
    "/v1/rerank": "Rank documents for a query, as Cohere's and Jina's v1.",
    "/v2/rerank": "Rank documents for a query, as Cohere's v2; `relevant_spans` are the words that decide.",
    "/score": "Score pairs, as vLLM.",
    "/v1/score": "Score pairs, as vLLM.",
    "/predict": "Score a pair or a list of pairs, as TEI.",
    "/search": "Search the index: the first stage finds candidates, the model reranks them.",
    "/explain": "Explain why a text matches, or why one of several ranks above the others.",
    "PUT /documents": "Add or replace documents; they are durable when 200 is answered.",
    "DELETE /documents": "Delete documents by id, durably.",
    "/documents/{id}": "Delete a document, durably.",
    "/": "The search page.",
    "/explanation": "The explanation of documents of the index as a page.",
    "/health": "200 when requests are answered, 503 while models are loaded.",
    "/info": "The models, the index and the limits.",
    "/metrics": "Metrics in the format of Prometheus.",
    "/openapi.json": "This description.",
    "/docs": "This description as a page.",
}
_ERRORS = {
    "400": "A list is empty, or the request is not HTTP.",
    "401": "The key is missing or wrong.",
    "404": "The path, the document or the index does not exist.",
    "405": "The path does not support this method; `Allow` has those that it does.",
    "408": "The headers or the body were sent too slowly.",
    "413": "The body is too large.",
    "421": "Without a key, the server answers only to the names of its own machine.",
    "422": "A field is invalid; the message names it.",
    "429": "Too many requests are waiting; `Retry-After` has the seconds to wait.",
    "431": "The headers are too large.",
    "500": "The server has failed.",
    "503": "The models are being loaded.",
    "507": "The disk of the index is full; nothing was changed.",
}
_NUMBER, _INTEGER = {"type": "number"}, {"type": "integer"}
_RANKED = {
    "type": "object",
    "required": ["index", "relevance_score"],
    "properties": {"index": _INTEGER, "relevance_score": _NUMBER},
}
_RERANKED = {
    "anyOf": [
        {
            "type": "array",
            "items": {"type": "object", "required": ["index", "score"], "properties": {"score": _NUMBER}},
        },
        {
            "type": "object",
            "required": ["id", "model", "results", "meta", "usage"],
            "properties": {"results": {"type": "array", "items": _RANKED}},
        },
    ]
}
_SCORED = {"type": "object", "required": ["id", "model", "data", "usage"]}
_ANSWERS: dict[str, dict[str, Any]] = {
    "/rerank": _RERANKED,
    "/v1/rerank": _RERANKED,
    "/v2/rerank": _RERANKED,
    "/score": _SCORED,
    "/v1/score": _SCORED,
    "/predict": {"type": "array"},
    "/search": {"type": "object", "required": ["query", "hits", "candidates", "seconds", "model"]},
    "/explain": {"type": "object", "required": ["format"]},
}
_PAGES = {"/": "text/html", "/explanation": "text/html", "/docs": "text/html", "/metrics": "text/plain"}
_PARAMETERS: dict[str, list[tuple[str, bool]]] = {  # names in the query string, and whether they are required
    "/": [("q", False), ("model", False)],
    "/explanation": [("q", True), ("id", True), ("model", False)],
}


def document(routes: Routes) -> dict[str, Any]:
    """The description of these routes."""
    paths: dict[str, Any] = {}
    for methods in routes.values():
        for method, route in methods.items():
            paths.setdefault(route.name, {})[method.lower()] = _operation(method, route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "pairlight", "version": __version__},
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error", "error_type", "message", "detail"],
                    "properties": {name: {"type": "string"} for name in ("error", "error_type", "message", "detail")},
                }
            },
        },
    }


def _operation(method: str, route: Route) -> dict[str, Any]:
    kind = _PAGES.get(route.name, "application/json")
    answer = _ANSWERS.get(route.name, {"type": "object"}) if kind == "application/json" else {"type": "string"}
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    responses = {"200": {"description": "The answer.", "content": {kind: {"schema": answer}}}}
    responses |= {status: {"description": text, "content": error} for status, text in _ERRORS.items()}
    summary = SUMMARIES.get(f"{method} {route.name}") or SUMMARIES[route.name]
    operation: dict[str, Any] = {"summary": summary, "responses": responses}
    parameters = [
        {"name": name, "in": "query", "required": needed, "schema": {"type": "string"}}
        for name, needed in _PARAMETERS.get(route.name, ())
    ]
    if "{id}" in route.name:
        schema = {"type": "string", "minLength": 1, "maxLength": MAX_ID}
        parameters.append({"name": "id", "in": "path", "required": True, "schema": schema})
    if parameters:
        operation["parameters"] = parameters
    if route.schema is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": route.schema}}}
    return operation


def page(description: Mapping[str, Any]) -> str:
    """The description as HTML."""
    parts = []
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>")
            parts.append(f"<p>{html.escape(operation['summary'])}</p>")
            body = operation.get("requestBody")
            if body is not None:
                schema = json.dumps(body["content"]["application/json"]["schema"]["properties"], indent=1)
                parts.append(f"<details><summary>Body</summary><pre>{html.escape(schema)}</pre></details>")
    errors = "".join(f"<tr><td>{status}</td><td>{html.escape(text)}</td></tr>" for status, text in _ERRORS.items())
    style = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    style += "h2{font-size:1rem;margin:1.5rem 0 0}p{margin:.2rem 0}pre{overflow:auto;background:#8881;padding:.5rem}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>pairlight: API</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<style>{style}</style></head><body><h1>API of pairlight {__version__}</h1>"
        '<p>For programs: <a href="openapi.json">openapi.json</a>. Send a key as '
        "<code>Authorization: Bearer KEY</code> where the server asks for one.</p>"
        f"{''.join(parts)}<h2>Errors</h2><table>{errors}</table></body></html>"
    )
