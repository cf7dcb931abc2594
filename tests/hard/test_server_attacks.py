"""A running server is attacked as an outsider would: it answers each attack, keeps its memory, and goes on serving."""

import contextlib
import functools
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from serve.conftest import make_index, train
from serve.server import running

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J"
MB = 1_000_000

pytestmark = pytest.mark.hard


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    model = train("late-interaction", folder / "model")
    with running(folder, model, "--index", make_index(folder / "index", model)) as started:
        yield started
        assert started.post("/search", {"query": "parcel"}).status == 200
        assert not [each for each in started.events() if each["event"] == "error"]


def port_of(server):
    return int(server.url.rsplit(":", 1)[1])


def memory_of(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def raw(server, content, seconds=10):
    """The answer to these bytes, empty if the connection is closed without one."""
    with socket.create_connection(("127.0.0.1", port_of(server)), seconds) as connection:
        answer = b""
        try:
            connection.sendall(content)
            while part := connection.recv(65536):
                answer += part
        except OSError:
            pass
        return answer


def test_a_flood_of_headers_is_refused_and_keeps_no_memory(server):
    before = memory_of(server)
    sent = 0
    with socket.create_connection(("127.0.0.1", port_of(server)), 10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n")
        try:
            for number in range(200):
                connection.sendall(b"x-%d: " % number + b"a" * MB + b"\r\n")
                sent += 1
        except OSError:
            pass
    assert sent < 200
    assert memory_of(server) < before + 50 * MB
    many = b"".join(b"h%d: x\r\n" % number for number in range(200_000))
    answer = raw(server, b"GET /health HTTP/1.1\r\n" + many + b"\r\n")
    assert not answer or answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /" + b"a" * 5 * MB + b" HTTP/1.1\r\n\r\n",
        b"POST /rerank HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"POST /rerank HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        b"POST /rerank HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
    ],
    ids=["address", "length", "two lengths", "length and chunks", "tls", "version"],
)
def test_what_is_not_a_request_is_refused(server, request_line):
    answer = raw(server, request_line)
    assert not answer or answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))


def test_another_host_name_is_refused_without_a_key(server):
    for name, status in (("evil.example", 421), ("127.0.0.1.evil.example", 421), ("[", 421), ("localhost:1", 200)):
        assert server.send("GET", "/info", Host=name).status == status, name
    assert server.send("GET", "/health", Host="evil.example").status == 200  # says nothing


def test_an_id_is_never_a_path(server):
    for name in ("..%2f..%2fetc%2fpasswd", "%00", "../../etc/passwd", "a" * 5000, "%ff%fe"):
        assert server.send("DELETE", f"/documents/{name}").status == 404
    for path in ("//etc/passwd", "/%2e%2e/etc/passwd", "/static/../page.html"):
        assert server.send("GET", path).status == 404
    assert server.send("GET", "/explanation?q=a&id=../../x").status == 404


def test_hostile_documents_are_shown_as_text(server):
    documents = [{"id": HOSTILE, "text": f"{HOSTILE} parcel", "lang": HOSTILE, HOSTILE: HOSTILE}]
    assert server.send("PUT", "/documents", {"documents": documents}).status == 200
    page = server.send("GET", "/?q=parcel+script")
    assert b"alert(1)" in page.content
    assert b"<script>alert" not in page.content
    assert b"<img" not in page.content
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    answer = server.post("/search", {"query": "parcel script"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_documents_that_would_break_later_answers_are_refused(server):
    deep = '{"documents": [{"id": "deep", "text": "parcel", "x": ' + "[" * 900 + "]" * 900 + "}]}"
    assert server.send("PUT", "/documents", deep.encode()).status == 422
    for fields in (
        {"n" * MB: "x"},
        {f"f{number}": 1 for number in range(2000)},
        {"x": json.loads("[" * 30 + "]" * 30)},
    ):
        documents = [{"id": "odd", "text": "parcel", **fields}]
        assert server.send("PUT", "/documents", {"documents": documents}).status == 422
    fine = [{"id": "odd", "text": "parcel", "a": None, "b": {"c": [1] * 1000}, "d": 1e308, "e": -(2**62)}]
    assert server.send("PUT", "/documents", {"documents": fine}).status == 200
    assert server.post("/search", {"query": "parcel", "top": 1000, "first": 1000}).status == 200


def test_the_cost_of_a_filter_and_of_a_query_is_bounded(server):
    for where in ({"n" * MB: "x"}, {"n": "x" * MB}, {f"k{number}": "a" for number in range(2000)}):
        assert server.post("/search", {"query": "parcel", "where": where}).status == 422
    assert server.post("/search", {"query": "parcel " * 100_000}).status == 200
    assert server.post("/search", {"query": "parcel", "threshold": 1e308}).json["hits"] == []
    for text in ("a" * 900_000, "\u0301" * 100_000, "(" * 900_000, "👩‍👩‍👧" * 10_000):
        assert server.post("/rerank", {"query": text, "texts": [text[: len(text) // 2]]}).status == 200
    assert server.send("POST", "/rerank", b"[" * 100_000).status == 422


def test_slow_and_large_bodies_are_refused_while_others_are_served(server):
    slow = [socket.create_connection(("127.0.0.1", port_of(server)), 10) for _ in range(100)]
    for connection in slow:
        connection.sendall(b"POST /rerank HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{")
    assert server.post("/rerank", {"query": "a", "texts": ["b"]}).status == 200
    for connection in slow:
        connection.close()
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(lambda _: server.send("POST", "/rerank", b"a" * 3 * MB).status, range(8))
        assert set(found) == {413}
    before = memory_of(server)
    assert before < 1500 * MB


def test_clients_that_send_a_byte_a_second_are_ended_after_half_a_minute(server):
    """Each byte keeps a connection busy, so only a limit of the whole time ends it (slowloris)."""
    begun = {
        "nothing": b"",
        "headers": b"GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
        "body": b"POST /rerank HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{",
    }
    answers = {}
    with contextlib.ExitStack() as stack:
        connect = functools.partial(socket.create_connection, ("127.0.0.1", port_of(server)), 5)
        clients = {name: stack.enter_context(connect()) for name in begun}
        for name, content in begun.items():
            clients[name].sendall(content)
            clients[name].settimeout(0.01)
        started = time.monotonic()
        while len(answers) < len(clients) and time.monotonic() - started < 60:
            time.sleep(1)
            for name in clients.keys() - answers.keys():
                with contextlib.suppress(TimeoutError):
                    try:
                        if name != "nothing":
                            clients[name].sendall(b" ")
                        answers[name] = clients[name].recv(1000)
                    except ConnectionError:
                        answers[name] = b""
    assert answers.keys() == clients.keys()
    assert time.monotonic() - started > 20
    assert all(not answer or answer.startswith(b"HTTP/1.1 408 ") for answer in answers.values())


def test_concurrent_changes_lose_nothing(server):
    statuses = []

    def change(worker):
        for number in range(5):
            name = f"c{worker}-{number}"
            statuses.append(
                server.send("PUT", "/documents", {"documents": [{"id": name, "text": f"change {name}"}]}).status
            )
            if number % 2:
                statuses.append(server.send("DELETE", f"/documents/{name}").status)

    threads = [threading.Thread(target=change, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200}
    hits = server.post("/search", {"query": "change", "top": 100}).json["hits"]
    left = {f"c{worker}-{number}" for worker in range(4) for number in (0, 2, 4)}
    assert {each["id"] for each in hits if each["id"].startswith("c")} == left
