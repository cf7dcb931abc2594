"""Reranking and scoring as clients of TEI, Cohere, Jina, vLLM and infinity expect it: body in, answer out.

`/rerank` with `texts` answers as TEI does, a bare list; with `documents` as Cohere, Jina, vLLM and infinity do.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairlight.inference.long_texts import batches
from pairlight.inference.windows import words_read
from pairlight.serve.backend import Backend
from pairlight.serve.messages import Answer, Handler, Request, Route, Routes
from pairlight.serve.request_error import RequestError
from pairlight.serve.schemas import BOOLEAN, DOCUMENT, NAME, QUERY, TEXT, Schema, count, listed
from pairlight.serve.served_model import PairScores, ServedModel
from pairlight.serve.work_queue import WorkQueue

MAX_EXPLAINED = 20  # documents of an answer with relevant spans, because an explanation takes many scores
Body = Mapping[str, Any]


def rerank_routes(maximum: int, backend: Backend, queue: WorkQueue) -> Routes:
    """The addresses of the other services; `maximum` texts in a request."""

    def reranker(version: int) -> Handler:
        async def handler(request: Request) -> Answer:
            return await rerank(request.body, backend.model(request.body.get("model")), version, queue)

        return handler

    async def score(request: Request) -> Answer:
        return await score_pairs(request.body, backend.model(request.body.get("model")), queue)

    async def classify(request: Request) -> Answer:
        return await predict(request.body, backend.model(None), queue)

    reranking, scoring = rerank_schema(maximum), score_schema(maximum)
    routes = [
        Route("/rerank", reranker(1), reranking),
        Route("/v1/rerank", reranker(1), reranking),
        Route("/v2/rerank", reranker(2), reranking),
        Route("/score", score, scoring),
        Route("/v1/score", score, scoring),
        Route("/predict", classify, predict_schema(maximum)),
    ]
    return {each.name: {"POST": each} for each in routes}


def rerank_schema(maximum: int) -> Schema:
    """The body of /rerank: `texts` for TEI, `documents` for the others; unknown fields are ignored."""
    shared = {"query": QUERY, "model": NAME, "top_n": count(0), "raw_scores": BOOLEAN}
    documents = {"documents": listed(DOCUMENT, maximum), "return_documents": BOOLEAN}
    spans = {"relevant_spans": {"anyOf": [BOOLEAN, {"type": "object", "properties": {"mode": NAME}}]}}
    return {
        "type": "object",
        "required": ["query"],
        "anyOf": [{"required": ["documents"]}, {"required": ["texts"]}],
        "properties": shared | documents | spans | {"texts": listed(TEXT, maximum), "return_text": BOOLEAN},
    }


def score_schema(maximum: int) -> Schema:
    """The body of /score: one text or many on the left, many on the right."""
    texts = {"anyOf": [TEXT, listed(TEXT, maximum)]}
    sides = ("text_1", "queries"), ("text_2", "documents")
    return {
        "type": "object",
        "allOf": [{"anyOf": [{"required": [name]} for name in side]} for side in sides],
        "properties": {name: texts for side in sides for name in side} | {"model": NAME, "use_activation": BOOLEAN},
    }


def predict_schema(maximum: int) -> Schema:
    """The body of TEI's /predict: a pair of texts, or a list of pairs."""
    pair = {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}
    return {
        "type": "object",
        "required": ["inputs"],
        "properties": {"inputs": {"anyOf": [pair, listed(pair, maximum)]}, "raw_scores": BOOLEAN},
    }


async def rerank(body: Body, model: ServedModel, version: int, queue: WorkQueue) -> Answer:
    query, is_tei = body["query"], "texts" in body
    texts = body["texts"] if is_tei else [each if isinstance(each, str) else each["text"] for each in body["documents"]]
    scored = await score_documents(queue, model, query, texts)
    shown = scored.scores if body.get("raw_scores") else model.probabilities(scored.scores)
    top = int(body.get("top_n") or 0) or len(texts)
    best = np.argsort(-scored.scores, kind="stable")[:top].tolist()
    answer = _answer(None, model, scored, len(texts), read=words_read(model.matcher.scorer))
    if is_tei:
        with_text = bool(body.get("return_text"))
        answer.body = [{"index": i, "score": float(shown[i])} | ({"text": texts[i]} if with_text else {}) for i in best]
        return answer
    results: list[dict[str, Any]] = [{"index": i, "relevance_score": float(shown[i])} for i in best]
    if body.get("return_documents"):
        for each in results:
            each["document"] = {"text": texts[each["index"]]}
    if wants_spans(body.get("relevant_spans")):
        for each in results[:MAX_EXPLAINED]:
            each["relevant_spans"] = await relevant_spans(queue, model, query, texts[each["index"]])
        if len(results) > MAX_EXPLAINED:
            answer.warnings.append(f"Only the best {MAX_EXPLAINED} results have relevant_spans: use top_n.")
    words = _words([query, *texts])
    meta = {
        "api_version": {"version": str(version)},
        "billed_units": {"search_units": 1},
        "tokens": {"input_tokens": words},
    }
    answer.body = {
        "id": str(uuid.uuid4()),
        "object": "rerank",
        "model": model.name,
        "created": int(time.time()),
        "results": results,
        "meta": meta | ({"warnings": answer.warnings} if answer.warnings else {}),
        "usage": {"prompt_tokens": words, "total_tokens": words},
    }
    return answer


async def score_documents(queue: WorkQueue, model: ServedModel, query: str, texts: Sequence[str]) -> PairScores:
    """The scores of documents; that of its best passage for one that is longer than what the model reads."""
    scored = await queue.score(model, [query] * len(texts), texts)
    for part in batches(np.flatnonzero(scored.right_truncated).tolist()):
        found = await queue.run(partial(model.score_long, query, [texts[i] for i in part]))
        scored.scores[part], scored.right_truncated[part] = found.scores, found.right_truncated
    return scored


async def relevant_spans(queue: WorkQueue, model: ServedModel, query: str, text: str) -> list[dict[str, Any]]:
    """The parts of a text that contribute most to its score."""
    return await queue.run(lambda: model.relevant_spans(query, text))


def wants_spans(value: Any) -> bool:
    """Whether spans are asked for: true, or an object whose mode is not "disabled"."""
    return value.get("mode") not in ("disabled", "none") if isinstance(value, dict) else bool(value)


async def score_pairs(body: Body, model: ServedModel, queue: WorkQueue) -> Answer:
    """vLLM's /score: the score of each pair, in order."""
    left, right = _side(body, "text_1", "queries"), _side(body, "text_2", "documents")
    queries = len(left)
    if queries == 1:
        left = left * len(right)
    if len(left) != len(right):
        raise RequestError(
            "Validation",
            f"`text_1` has {len(left)} texts and `text_2` has {len(right)}: give one text, or as many as `text_2` has.",
        )
    scored = await queue.score(model, left, right)
    shown = scored.scores if body.get("use_activation") is False else model.probabilities(scored.scores)
    words = _words([*left, *right])
    answer = _answer(None, model, scored, len(right), one_query=queries == 1)
    answer.body = {
        "id": f"score-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": model.name,
        "data": [{"index": i, "object": "score", "score": float(value)} for i, value in enumerate(shown)],
        "usage": {"prompt_tokens": words, "total_tokens": words},
    }
    return answer


async def predict(body: Body, model: ServedModel, queue: WorkQueue) -> Answer:
    """TEI's /predict: one label with its score, or a list of them for a list of pairs."""
    inputs = body["inputs"]
    pairs = [inputs] if isinstance(inputs[0], str) else inputs
    scored = await queue.score(model, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    shown = scored.scores if body.get("raw_scores") else model.probabilities(scored.scores)
    found = [[{"score": float(value), "label": "LABEL_0"}] for value in shown]
    return _answer(found[0] if isinstance(inputs[0], str) else found, model, scored, len(pairs), one_query=False)


def truncation_warnings(scored: PairScores, model: ServedModel, read: int | None = None) -> list[str]:
    """What was truncated, in words; `read` words of a document are read, or as many as the model reads at once."""
    scorer, warnings = model.matcher.scorer, []
    if scored.left_truncated.any():
        warnings.append(f"The query has more than {scorer.left_length} words and was truncated.")
    count_right = int(scored.right_truncated.sum())
    if count_right:
        total, limit = len(scored.right_truncated), read or scorer.right_length
        warnings.append(f"{count_right} of {total} documents have more than {limit} words and were truncated.")
    return warnings


def _answer(
    body: Any, model: ServedModel, scored: PairScores, texts: int, *, one_query: bool = True, read: int | None = None
) -> Answer:
    queries = int(scored.left_truncated.any() if one_query else scored.left_truncated.sum())
    truncated = int(scored.right_truncated.sum()) + queries
    return Answer(body, texts, truncated, model.name, truncation_warnings(scored, model, read))


def _side(body: Body, *names: str) -> list[str]:
    found = next(body[name] for name in names if name in body)
    return [found] if isinstance(found, str) else list(found)


def _words(texts: Sequence[str]) -> int:
    return sum(text.count(" ") + 1 for text in texts)
