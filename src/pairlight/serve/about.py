"""What a server says of itself: health, information, metrics and the description of its API."""

import orjson

from pairlight import __version__
from pairlight.serve import openapi
from pairlight.serve.backend import Backend
from pairlight.serve.messages import HTML, Request, Response, Route, Routes
from pairlight.serve.metrics import CONTENT_TYPE, Metrics
from pairlight.serve.request_error import RequestError
from pairlight.serve.settings import ServerSettings


def about_routes(settings: ServerSettings, backend: Backend, metrics: Metrics, others: Routes) -> Routes:
    """Health, information and metrics, and the description of these routes and the others."""

    async def health(_: Request) -> Response:
        if not backend.is_ready:
            raise RequestError("Unhealthy", "The models are being loaded: try again.")
        return Response(orjson.dumps({"status": "ok"}))

    async def info(_: Request) -> Response:
        models = list(backend.models.values())
        first = models[0] if models else None
        index = backend.index
        found = {
            "model_id": None if first is None else first.name,
            "model_sha": None if first is None else first.matcher.scorer.fingerprint(),
            "model_dtype": "float32",
            "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
            "max_concurrent_requests": settings.max_waiting,
            "max_input_length": 0 if first is None else first.max_length,
            "max_client_batch_size": settings.max_texts,
            "auto_truncate": True,
            "version": __version__,
            "models": [
                {"name": each.name, "kind": each.matcher.name, "max_length": each.max_length} for each in models
            ],
            "index": None if index is None else {"documents": len(index), "first_stage": index.manifest.first_stage},
        }
        return Response(orjson.dumps(found))

    async def prometheus(_: Request) -> Response:
        return Response(metrics.page(), content_type=CONTENT_TYPE)

    async def description(_: Request) -> Response:
        return Response(orjson.dumps(openapi.document(others | own)))

    async def docs(_: Request) -> Response:
        content = openapi.page(openapi.document(others | own)).encode()
        return Response(content, content_type=HTML, headers=[("content-security-policy", openapi.PAGE_POLICY)])

    routes = [
        Route("/health", health, is_work=False, is_open=True),
        Route("/info", info, is_work=False),
        Route("/metrics", prometheus, is_work=False),
        Route("/openapi.json", description, is_work=False),
        Route("/docs", docs, is_work=False),
    ]
    own: Routes = {each.name: {"GET": each} for each in routes}
    return own
