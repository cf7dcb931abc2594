"""The first stage in OpenSearch or Elasticsearch, against answers written after their documentation, not a server."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from pairlight import Document
from pairlight.core.errors import InputError
from pairlight.search.opensearch_stage import OpenSearchStage

CREATED = (200, {"acknowledged": True, "shards_acknowledged": True, "index": "documents"})
EXISTS = (
    400,
    {
        "error": {
            "root_cause": [
                {"type": "resource_already_exists_exception", "reason": "index [documents/x] already exists"}
            ],
            "type": "resource_already_exists_exception",
            "reason": "index [documents/x] already exists",
        },
        "status": 400,
    },
)
FOUND = (
    200,
    {
        "took": 2,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {
            "total": {"value": 1, "relation": "eq"},
            "max_score": 1.25,
            "hits": [
                {
                    "_index": "documents",
                    "_id": "a/b",
                    "_score": 1.25,
                    "_source": {"text": "größer", "filters": ["lang=de"], "fields": {"lang": "de"}},
                }
            ],
        },
    },
)
WRITTEN = (
    200,
    {
        "took": 30,
        "errors": False,
        "items": [{"index": {"_index": "documents", "_id": "a/b", "_version": 1, "result": "created", "status": 201}}],
    },
)
GONE = (  # a document that is not there: an item of status 404 without an error
    200,
    {
        "took": 5,
        "errors": False,
        "items": [
            {"delete": {"_index": "documents", "_id": "a/b", "_version": 1, "result": "not_found", "status": 404}}
        ],
    },
)
REFUSED = (
    200,
    {
        "took": 30,
        "errors": True,
        "items": [
            {
                "index": {
                    "_index": "documents",
                    "_id": "a/b",
                    "status": 400,
                    "error": {"type": "mapper_parsing_exception", "reason": "failed to parse field [text]"},
                }
            }
        ],
    },
)
UNAUTHORIZED = (401, {"error": {"type": "security_exception", "reason": "missing credentials"}, "status": 401})


@pytest.fixture
def server():
    """A server with prepared answers that keeps the requests."""
    answers, requests = [], []

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            requests.append((self.command, self.path, dict(self.headers), [json.loads(x) for x in body.splitlines()]))
            status, content = answers.pop(0)
            encoded = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_PUT = do_POST = answer  # noqa: N815  # the names that http.server calls

        def log_message(self, *_):
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", answers, requests
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.mark.parametrize("first", [CREATED, EXISTS])
def test_the_index_is_created_with_the_analyzer_of_the_language(server, first):
    url, answers, requests = server
    answers.append(first)
    OpenSearchStage(url, "my docs", language="de", headers={"Authorization": "ApiKey x"})
    method, path, headers, (body,) = requests[0]
    assert (method, path) == ("PUT", "/my%20docs")
    assert headers["Authorization"] == "ApiKey x"
    assert body["mappings"]["properties"]["text"] == {"type": "text", "analyzer": "german"}


@pytest.mark.parametrize(
    ("language", "analyzer"), [("en", "english"), ("zh", "cjk"), ("ta", "standard"), ("any", "standard")]
)
def test_every_language_has_an_analyzer(server, language, analyzer):
    url, answers, requests = server
    answers.append(CREATED)
    OpenSearchStage(url, language=language)
    assert requests[0][3][0]["mappings"]["properties"]["text"]["analyzer"] == analyzer


def test_candidates_are_the_hits_of_a_match_query_with_filters(server):
    url, answers, requests = server
    answers += [CREATED, FOUND]
    found = OpenSearchStage(url + "/").candidates("groß", 7, {"lang": ["de", "at"]})
    assert [(each.document, each.score) for each in found] == [(Document("a/b", "größer", {"lang": "de"}), 1.25)]
    method, path, _, (body,) = requests[1]
    assert (method, path) == ("POST", "/documents/_search")
    assert body == {
        "size": 7,
        "query": {
            "bool": {
                "must": {"match": {"text": "groß"}},
                "filter": [{"terms": {"filters": ["lang=de", "lang=at"]}}],
            }
        },
    }


def test_documents_are_written_and_deleted_as_json_lines_and_waited_for(server):
    url, answers, requests = server
    answers += [CREATED, WRITTEN, GONE]
    stage = OpenSearchStage(url)
    stage.add([Document("a/b", "größer", {"lang": "de"})])
    stage.delete(["a/b"])
    stage.close()
    (_, path, headers, added), (_, _, _, deleted) = requests[1:]
    assert path == "/documents/_bulk?refresh=wait_for"
    assert headers["Content-Type"] == "application/x-ndjson"
    source = {"text": "größer", "filters": ["lang=de"], "fields": {"lang": "de"}}
    assert added == [{"index": {"_id": "a/b"}}, source]
    assert deleted == [{"delete": {"_id": "a/b"}}]


def test_many_documents_are_sent_in_several_requests(server):
    url, answers, requests = server
    answers += [CREATED, WRITTEN, WRITTEN]
    OpenSearchStage(url).add([Document(str(i), "x") for i in range(1500)])
    assert [len(lines) for _, _, _, lines in requests[1:]] == [2000, 1000]


@pytest.mark.parametrize(
    ("prepared", "words"),
    [
        ([UNAUTHORIZED], "missing credentials"),
        ([(502, b"<html>")], "status 502"),
        ([(200, b"<html>")], "does not answer with JSON"),
        ([CREATED, REFUSED], "refused document 'a/b': failed to parse"),
        ([CREATED, UNAUTHORIZED], "missing credentials"),
    ],
)
def test_errors_of_the_server_are_input_errors(server, prepared, words):
    url, answers, _ = server
    answers += prepared

    def use():
        OpenSearchStage(url).add([Document("a/b", "x")])

    with pytest.raises(InputError, match=words):
        use()


def test_a_server_that_is_not_there_is_an_input_error():
    with pytest.raises(InputError, match=r"cannot be reached .*: check the address"):
        OpenSearchStage("http://127.0.0.1:9")
    with pytest.raises(InputError, match="is not the address of a server"):
        OpenSearchStage("localhost:9200")
