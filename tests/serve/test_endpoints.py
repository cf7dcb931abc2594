"""Every endpoint answers as documented, and refuses what it cannot use with a message that names the field."""

import http.client
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import numpy as np
import pytest

from pairlight import Matcher
from pairlight.serve.connection import MAX_CONNECTIONS

QUERY = "where is my parcel"
TEXTS = ["returns are free", "the tracking page shows where your parcel is", "pay by credit card"]


@pytest.fixture(scope="module")
def expected(models):
    matcher = Matcher.load(models[0])
    pairs = [(QUERY, text) for text in TEXTS]
    return matcher.predict(pairs), matcher.predict(pairs, as_probability=True)


def test_texts_are_ranked_as_tei_does(server, expected):
    found = server.post("/rerank", {"query": QUERY, "texts": TEXTS, "return_text": True}).json
    assert [each["index"] for each in found] == np.argsort(-expected[0]).tolist()
    assert [each["score"] for each in found] == pytest.approx(sorted(expected[1], reverse=True), abs=1e-5)
    assert found[0]["text"] == TEXTS[found[0]["index"]]
    raw = server.post("/rerank", {"query": QUERY, "texts": TEXTS, "raw_scores": True}).json
    assert [each["score"] for each in raw] == pytest.approx(sorted(expected[0], reverse=True), abs=1e-4)


@pytest.mark.parametrize(("path", "version"), [("/rerank", "1"), ("/v1/rerank", "1"), ("/v2/rerank", "2")])
def test_documents_are_ranked_as_cohere_does(server, expected, path, version):
    body = {"model": "theirs", "query": QUERY, "documents": [{"text": each} for each in TEXTS], "top_n": 2}
    found = server.post(path, body | {"return_documents": True, "unknown": 1}).json
    assert [each["index"] for each in found["results"]] == np.argsort(-expected[0]).tolist()[:2]
    assert found["results"][0]["relevance_score"] == pytest.approx(float(expected[1].max()), abs=1e-5)
    assert found["results"][0]["document"] == {"text": TEXTS[found["results"][0]["index"]]}
    assert found["meta"]["api_version"] == {"version": version}
    assert found["model"] == "late"
    assert found["usage"]["total_tokens"] > 0
    assert len(server.post(path, {"query": QUERY, "documents": TEXTS, "top_n": 0}).json["results"]) == 3


def test_relevant_spans_are_words_of_the_document(server):
    body = {"query": QUERY, "documents": TEXTS, "top_n": 1, "relevant_spans": {"mode": "enabled"}}
    best = server.post("/v2/rerank", body).json["results"][0]
    words = [TEXTS[best["index"]][span["start"] : span["end"]] for span in best["relevant_spans"]]
    assert any("parcel" in each for each in words)
    assert all(span["score"] > 0 for span in best["relevant_spans"])
    assert "relevant_spans" not in server.post("/v2/rerank", body | {"relevant_spans": None}).json["results"][0]


def test_the_model_of_a_request_is_the_one_it_names(server, models):
    found = server.post("/rerank", {"query": QUERY, "documents": TEXTS, "model": "mv", "raw_scores": True}).json
    scores = Matcher.load(models[1]).predict([(QUERY, text) for text in TEXTS])
    assert found["model"] == "mv"
    assert [each["relevance_score"] for each in found["results"]] == pytest.approx(sorted(scores)[::-1], abs=1e-5)


@pytest.mark.parametrize("names", [("text_1", "text_2"), ("queries", "documents")])
def test_pairs_are_scored_in_order_as_vllm_does(server, expected, names):
    for left in (QUERY, [QUERY] * 3):
        found = server.post("/score", dict(zip(names, (left, TEXTS), strict=True))).json
        assert [each["score"] for each in found["data"]] == pytest.approx(expected[1], abs=1e-5)
    raw = server.post("/v1/score", {"text_1": QUERY, "text_2": TEXTS, "use_activation": False}).json
    assert [each["score"] for each in raw["data"]] == pytest.approx(expected[0], abs=1e-4)


def test_a_pair_or_pairs_are_predicted_as_tei_does(server, expected):
    one = server.post("/predict", {"inputs": [QUERY, TEXTS[0]]}).json
    many = server.post("/predict", {"inputs": [[QUERY, text] for text in TEXTS]}).json
    assert one == many[0]
    assert [each[0]["score"] for each in many] == pytest.approx(expected[1], abs=1e-5)


def test_truncated_texts_are_reported(server):
    long = "parcel " * 100
    found = server.post("/v1/rerank", {"query": QUERY, "documents": ["parcel " * 5000, long, "short"]})
    assert found.json["meta"]["warnings"] == ["1 of 3 documents have more than 2080 words and were truncated."]
    assert found.headers["x-truncated-texts"] == "1"
    as_tei = server.post("/rerank", {"query": long, "texts": ["short"]})
    assert as_tei.headers["x-truncated-texts"] == "1"
    for path in ("/score", "/v1/score"):
        assert server.post(path, {"text_1": long, "text_2": ["a", long]}).headers["x-truncated-texts"] == "2"
        assert server.post(path, {"text_1": [long] * 2, "text_2": ["a", long]}).headers["x-truncated-texts"] == "3"
        assert server.post(path, {"text_1": "a", "text_2": "b"}).headers["x-truncated-texts"] is None
    pairs = {"inputs": [[long, "a"], [long, "a"]]}
    assert server.post("/predict", pairs).headers["x-truncated-texts"] == "2"
    assert "warnings" not in server.post("/v1/rerank", {"query": QUERY, "documents": ["parcel"]}).json["meta"]


def test_long_documents_are_reranked_by_their_best_passage(server, models):
    matcher, filler = Matcher.load(models[0]), "nothing of note happened in the village " * 30
    documents = [filler, *TEXTS, f"{filler} where is my parcel {filler}"]
    body = {"query": QUERY, "documents": documents, "raw_scores": True, "relevant_spans": True}
    for path in ("/v1/rerank", "/v2/rerank"):
        found = server.post(path, body).json
        assert "warnings" not in found["meta"]
        expected = {each["corpus_id"]: each["score"] for each in matcher.rank(QUERY, documents)}
        assert {each["index"]: each["relevance_score"] for each in found["results"]} == pytest.approx(
            expected, abs=1e-4
        )
    (last,) = (each for each in found["results"] if each["index"] == len(documents) - 1)
    marked = [documents[-1][each["start"] : each["end"]] for each in last["relevant_spans"]]
    assert "parcel" in " ".join(marked)


def test_the_index_is_searched_with_each_model(server):
    for model in ("late", "mv"):
        found = server.post("/search", {"query": QUERY, "top": 2, "model": model, "where": {"lang": "en"}}).json
        assert len(found["hits"]) == 2
        assert found["model"] == model
        assert found["hits"][0]["model_score"] is not None
    assert server.post("/search", {"query": QUERY, "where": {"lang": "de"}}).json["hits"] == []
    spans = server.post("/search", {"query": "tracking page", "relevant_spans": True}).json["hits"][0]
    assert spans["id"] == "tracking"
    assert "tracking" in spans["text"][spans["relevant_spans"][0]["start"] : spans["relevant_spans"][0]["end"]]


def test_a_search_with_a_query_that_the_model_does_not_read_to_the_end_is_reported(server):
    found = server.post("/search", {"query": "parcel " * 100})
    assert found.json["meta"]["warnings"] == ["The query has more than 64 words and was truncated for the model."]
    assert found.headers["x-truncated-texts"] == "1"
    assert b"was truncated for the model" in server.send("GET", f"/?q={'parcel+' * 100}").content
    short = server.post("/search", {"query": QUERY})
    assert "meta" not in short.json
    assert short.headers["x-truncated-texts"] is None


def test_a_search_uses_the_first_stage_that_it_names(server):
    def found(stage):
        return [hit["id"] for hit in server.post("/search", {"query": "returns", "first_stage": stage}).json["hits"]]

    assert found("bm25") == ["returns"]
    assert len(found("vectors")) == len(found(None)) == 4


def test_a_text_is_explained_and_several_are_compared(server):
    one = server.post("/explain", {"query": QUERY, "text": TEXTS[1]}).json
    assert one["score"] == pytest.approx(one["score"])
    assert one["right"]["text"] == TEXTS[1]
    several = server.post("/explain", {"query": QUERY, "texts": TEXTS[:2]}).json
    assert len(several["explanations"]) == 2


def test_documents_are_put_found_and_deleted(server):
    document = {"id": "hours", "text": "the shop is open on Sunday", "lang": "en"}
    assert server.send("PUT", "/documents", {"documents": [document]}).json == {"updated": 1}
    hit = server.post("/search", {"query": "Sunday", "top": 1}).json["hits"][0]
    assert (hit["id"], hit["fields"]) == ("hours", {"lang": "en"})
    assert server.send("DELETE", "/documents/hours").json == {"deleted": 1}
    assert server.send("DELETE", "/documents/hours").status == 404
    assert server.send("DELETE", "/documents", {"ids": ["hours"]}).json == {"deleted": 0}
    assert "hours" not in [each["id"] for each in server.post("/search", {"query": "Sunday"}).json["hits"]]


def test_health_information_metrics_and_description_are_answered(server):
    assert server.send("GET", "/health").json == {"status": "ok"}
    information = server.send("GET", "/info").json
    assert [each["name"] for each in information["models"]] == ["late", "mv"]
    assert information["max_client_batch_size"] == 1000
    assert b'pairlight_requests_total{route="/health",status="200"}' in server.send("GET", "/metrics").content
    description = server.send("GET", "/openapi.json").json
    assert {"/rerank", "/v2/rerank", "/documents/{id}", "/search"} <= set(description["paths"])
    page = server.send("GET", "/docs")
    assert b"/v2/rerank" in page.content
    assert b"://" not in page.content
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("path", "body", "status", "part"),
    [
        ("/rerank", {"texts": ["a"]}, 422, "`query` is missing"),
        ("/rerank", {"query": " ", "texts": ["a"]}, 422, "`query` is empty"),
        ("/rerank", {"query": "a"}, 422, "`documents` is missing"),
        ("/rerank", {"query": "a", "texts": []}, 400, "`texts` cannot be empty"),
        ("/rerank", {"query": "a", "texts": ["a", 5]}, 422, "`texts[1]` is 5: use a text"),
        ("/rerank", {"query": "a", "texts": ["a\0"]}, 422, "`texts[0]` contains a NUL"),
        ("/rerank", {"query": "a", "texts": ["a"] * 1001}, 422, "send at most 1000"),
        ("/v2/rerank", {"query": "a", "documents": [{"title": "a"}]}, 422, "`documents[0].text` is missing"),
        ("/v2/rerank", {"query": "a", "documents": ["a"], "top_n": -1}, 422, "`top_n` is -1"),
        ("/v2/rerank", {"query": "a", "documents": ["a"], "top_n": "x"}, 422, "`top_n` is 'x'"),
        ("/score", {"text_1": ["a", "b"], "text_2": ["a"]}, 422, "`text_1` has 2 texts"),
        ("/predict", {"inputs": ["a"]}, 400, "`inputs`"),
        ("/search", {"query": "a", "model": "x"}, 422, "use one of late, mv"),
        ("/search", {"query": "a", "first_stage": "bm52"}, 422, "No first stage named 'bm52'"),
        ("/search", {"query": "a", "top": 500}, 422, "only 100 candidates"),
        ("/explain", {"query": "a"}, 422, "`text` is missing"),
        ("/rerank", b"{", 422, "not JSON"),
        ("/rerank", b'"\\ud800"', 422, "not JSON"),
        ("/rerank", [], 422, "The body is []: use an object"),
        ("/rerank", b"x" * 2_000_001, 413, "send at most 2,000,000"),
        ("/other", {}, 404, "no such path"),
    ],
)
def test_a_bad_request_is_refused_with_the_field_and_the_fix(server, path, body, status, part):
    reply = server.post(path, body)
    assert reply.status == status
    assert part in reply.json["message"]
    assert reply.json["error"] == reply.json["detail"] == reply.json["message"]


def test_a_wrong_method_is_answered_with_the_right_one(server):
    reply = server.send("GET", "/rerank")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert server.send("OPTIONS", "/rerank").status == 405  # CORS is off


def test_eight_threads_get_the_scores_of_one(server, expected):
    body = {"query": QUERY, "texts": TEXTS, "raw_scores": True}
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: server.post("/rerank", body).json, range(64)))
    for each in found:
        assert [row["score"] for row in each] == pytest.approx(sorted(expected[0], reverse=True), abs=1e-4)


def test_the_log_has_no_texts(server):
    secret = "zanzibar"
    server.post("/rerank", {"query": secret, "texts": [secret]})
    server.send("GET", f"/?q={secret}")
    server.post(f"/{secret}", {})
    server.post("/rerank", {"query": secret, "texts": secret})
    log = server.log.read_text("utf-8")
    assert secret not in log
    last = json.loads(log.splitlines()[-1])
    assert {"time", "route", "status", "ms"} <= set(last)


def test_a_client_that_goes_away_costs_no_further_work(server):
    address = urlsplit(server.url)
    body = json.dumps({"query": QUERY, "documents": TEXTS * 7, "relevant_spans": True}).encode()
    with socket.create_connection((address.hostname, address.port)) as connection:
        head = f"POST /v2/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
    before = sum(each.get("status") == 499 for each in server.events())
    for _ in range(100):
        if sum(each.get("status") == 499 for each in server.events()) > before or before:
            break
        server.send("GET", "/health")
    assert any(each.get("status") == 499 and each["route"] == "/v2/rerank" for each in server.events())
    assert b"pairlight_waiting_requests 0.0" in server.send("GET", "/metrics").content


def test_the_page_shows_results_without_javascript(server):
    reply = server.send("GET", "/?q=tracking+page&model=late&model=mv")
    page = reply.content.decode()
    assert [page.count(f'<section data-model="{name}">') for name in ("late", "mv")] == [1, 1]
    assert '<li data-id="tracking"><p>the <mark>tracking</mark> <mark>page</mark> shows' in page
    assert "explanation?q=tracking+page" in page
    assert "://" not in page
    assert "script-src 'sha256-" in reply.headers["content-security-policy"]
    assert "No answer" not in page


def test_what_a_user_types_is_escaped_in_the_page(server):
    page = server.send("GET", "/?q=%3Cscript%3Ealert(1)%3C/script%3E").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_the_explanation_of_documents_is_a_page(server):
    reply = server.send("GET", "/explanation?q=tracking&id=tracking&id=returns")
    assert reply.status == 200
    assert b"Comparison of 2 right texts" in reply.content
    assert server.send("GET", "/explanation?q=tracking&id=nothing").status == 404
    assert server.send("GET", "/explanation?q=tracking").status == 400


def test_a_slow_client_does_not_hold_up_others(server):
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port)) as slow:
        slow.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        assert server.post("/rerank", {"query": QUERY, "texts": TEXTS}).status == 200


def raw_answer(server, request):
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(request)
        head, _, content = connection.makefile("rb").read().partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(content)


def test_what_is_not_http_is_answered_with_json(server):
    status, body = raw_answer(server, b"\x16\x03\x01 not HTTP\r\n\r\n")
    assert (status, body["error_type"]) == (400, "Malformed")


def test_more_connections_than_the_limit_are_refused_with_json(server):
    address = urlsplit(server.url)
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    held = [socket.create_connection((address.hostname, address.port), timeout=20) for _ in range(MAX_CONNECTIONS)]
    status, body = raw_answer(server, request)
    for each in held:
        each.close()
    assert (status, body["error_type"]) == (429, "Overloaded")
    server.wait_until(lambda: raw_answer(server, request)[0] == 200)  # closed connections do not count


def test_an_answer_on_an_open_connection_does_not_wait_for_the_network(server):
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname, address.port)
    seconds = []
    for _ in range(20):
        started = time.perf_counter()
        connection.request("GET", "/health")
        connection.getresponse().read()
        seconds.append(time.perf_counter() - started)
    connection.close()
    assert sorted(seconds)[5] < 0.03  # a delayed acknowledgement takes 0.04
