"""The pages for people: the search page, and explanations of documents of the index."""

from collections.abc import Sequence
from typing import Any

from pairlight.explain.data import Comparison
from pairlight.explain.render.html import explanation_page
from pairlight.search.analyzers import Analyzer
from pairlight.serve.backend import Backend
from pairlight.serve.collection import EXPLAIN, MAX_COMPARED, SEARCH, search
from pairlight.serve.messages import HTML, Request, Response, Route, Routes
from pairlight.serve.request_error import RequestError
from pairlight.serve.schemas import check
from pairlight.serve.search_page import EXPLANATION_POLICY, SearchPage
from pairlight.serve.served_model import ServedModel
from pairlight.serve.work_queue import WorkQueue


def page_routes(backend: Backend, queue: WorkQueue) -> Routes:
    """The search page, and the page of an explanation."""
    template = SearchPage()

    async def search_page(request: Request) -> Response:
        """The page; with `?q=`, it has the results already, so that it works without JavaScript."""
        query = (request.first("q") or "").strip()
        models: list[str | None] = list(request.query.get("model", [])[:2] or list(backend.models)[:1]) or [None]
        columns: list[Any] = []
        problem = None
        if query:
            try:
                check(query, SEARCH["properties"]["query"], "q")
                columns = [(await search({"query": query, "model": name}, backend, queue)).body for name in models]
            except RequestError as refusal:
                problem = refusal.message
        index = backend.index
        if index is None:
            content = template.html(query, list(backend.models), models, columns, [], None, problem, str.split)
        else:
            size, examples = await queue.run(lambda: template.examples(index))
            terms = Analyzer(index.manifest.language).terms
            content = template.html(query, list(backend.models), models, columns, examples, size, problem, terms)
        return Response(content, content_type=HTML, headers=template.headers)

    async def explanation(request: Request) -> Response:
        """Why a document of the index matches, or why one ranks above another: the page of `explain --html`."""
        query, ids = (request.first("q") or "").strip(), request.query.get("id", [])[:MAX_COMPARED]
        check({"query": query, "texts": ids}, EXPLAIN)
        model = backend.named_model(request.first("model"))
        content = await queue.run(lambda: _explained(backend, model, query, ids))
        return Response(content, content_type=HTML, headers=[("content-security-policy", EXPLANATION_POLICY)])

    return {
        "/": {"GET": Route("/", search_page)},
        "/explanation": {"GET": Route("/explanation", explanation)},
    }


def _explained(backend: Backend, model: ServedModel, query: str, ids: Sequence[str]) -> bytes:
    documents = backend.opened_index().lookup(ids)
    missing = [each for each in ids if each not in documents]
    if missing:
        raise RequestError("NotFound", f"The index has no document {missing[0][:60]!r}.")
    found = model.explain(query, model.passages(query, [documents[each] for each in ids]))
    explanations = found.explanations if isinstance(found, Comparison) else (found,)
    return explanation_page(explanations).encode("utf-8", "replace")
