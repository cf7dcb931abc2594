"""The application without a network: what it answers while models are loaded, and the statuses it describes."""

import asyncio
import io
import json
import re

import pytest

from docs.pages import ROOT
from pairlight.serve.application import Application
from pairlight.serve.backend import Backend
from pairlight.serve.event_log import EventLog
from pairlight.serve.request_error import STATUS
from pairlight.serve.settings import ServerSettings
from pairlight.serve.work_queue import WorkQueue


@pytest.fixture
def application():
    settings, queue = ServerSettings(("qa-small",)), WorkQueue()
    yield Application(settings, Backend(settings), queue, EventLog(io.StringIO()))
    queue.close()


def ask(application, method, path, body=None):
    """The status, the headers and the body of an answer."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"" if body is None else json.dumps(body).encode()}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    asyncio.run(application(scope, receive, send))
    start, content = sent
    return start["status"], dict(start["headers"]), json.loads(content["body"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/health", None),
        ("POST", "/rerank", {"query": "a", "texts": ["b"]}),
        ("POST", "/search", {"query": "a"}),
    ],
)
def test_a_server_that_loads_its_models_asks_to_try_again(application, method, path, body):
    status, headers, answer = ask(application, method, path, body)
    assert (status, headers[b"retry-after"]) == (503, b"1")
    assert answer["message"] == "The models are being loaded: try again."


def test_what_needs_no_model_is_answered_while_models_are_loaded(application):
    assert ask(application, "GET", "/openapi.json")[0] == 200
    application.backend.is_ready = True
    assert ask(application, "GET", "/health")[::2] == (200, {"status": "ok"})


def test_models_that_are_being_loaded_are_not_reloaded(application):
    (event,) = application.backend.reload()
    assert not event["ok"]
    assert "still being loaded" in event["error"]


def test_every_status_is_described(application):
    expected = {str(status) for status in STATUS.values()}
    described = ask(application, "GET", "/openapi.json")[2]["paths"]["/rerank"]["post"]["responses"]
    assert set(described) == expected | {"200"}
    rows = re.findall(r"^\| (\d{3}[^|]*)\|", (ROOT / "docs/guides/serve.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"\d{3}", " ".join(rows))) == expected
