"""A running server: keys, overload, draining, reloading, workers, and changes that survive a kill."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pairlight import Index, InputError, cli
from pairlight.serve.backend import Backend
from pairlight.serve.server import serve
from pairlight.serve.settings import ServerSettings
from serve.conftest import make_index, train
from serve.server import running

BODY = {"query": "where is my parcel", "texts": ["the parcel is here", "we are open"], "raw_scores": True}


@pytest.mark.parametrize("origin", ["http://[", "https://shop.example/", "shop.example", "http://a.example:x", ""])
def test_what_no_browser_sends_is_not_an_origin(origin):
    with pytest.raises(InputError, match="is not an origin: write scheme://host"):
        ServerSettings(("qa-small",), cors=(origin,))


def test_a_host_that_is_no_name_is_one_line():
    for host in ("a" * 100, "a..b", "256.0.0.1", "\udcff"):
        with pytest.raises(InputError, match=r"cannot be used .*: choose another host or port"):
            serve(ServerSettings(("qa-small",), host=host, port=0))


def test_keys_and_cors_are_checked_a_full_queue_refuses_and_sigterm_finishes_what_has_begun(models, tmp_path):
    (tmp_path / "keys").write_text("# for the shop\nsecret-1\nsecret-2\n", encoding="utf-8")
    arguments = ["--api-key-file", tmp_path / "keys", "--cors", "https://shop.example", "--max-waiting", "1"]
    with running(tmp_path, models[0], *arguments) as server:
        for key in ("", "Bearer wrong", "Bearer secret-1x", "Basic !"):
            refused = server.send("POST", "/rerank", BODY, Authorization=key)
            assert refused.status == 401
            assert "Bearer" in refused.headers["www-authenticate"]
        allowed = {"Authorization": "Bearer secret-2"}
        answer = server.send("POST", "/rerank", BODY, Origin="https://shop.example", **allowed)
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        other = server.send("POST", "/rerank", BODY, Origin="https://other.example", **allowed)
        assert other.headers["access-control-allow-origin"] is None
        assert server.send("OPTIONS", "/rerank", Origin="https://shop.example").status == 204
        basic = {"Authorization": "Basic OnNlY3JldC0x"}  # :secret-1, as a browser sends it
        assert server.send("GET", "/", **basic).status == 200
        assert "Basic" in server.send("GET", "/").headers["www-authenticate"]
        assert server.send("POST", "/search", {"query": "a"}, **allowed).status == 404  # no index

        large = {"query": "where is my parcel", "documents": [f"parcel {n}" for n in range(1000)]}
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: server.send("POST", "/rerank", large, **allowed), range(24)))
        statuses = {each.status for each in found}
        assert statuses == {200, 429}
        assert all(each.headers["retry-after"] == "1" for each in found if each.status == 429)

        answers = []
        slow = {"query": "parcel", "documents": ["the parcel is here"] * 20, "relevant_spans": True}
        asking = threading.Thread(target=lambda: answers.append(server.send("POST", "/v2/rerank", slow, **allowed)))
        asking.start()
        time.sleep(0.1)
        server.process.send_signal(signal.SIGTERM)
        asking.join(20)
        assert answers[0].status == 200
        assert len(answers[0].json["results"]) == 20
        assert server.process.wait(20) == 0
        assert server.events()[-1]["event"] == "stopped"


def test_sighup_replaces_a_model_without_an_error_and_keeps_it_where_the_new_one_is_damaged(models, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(models[1], folder)
    with running(tmp_path, folder) as server:

        def scores():
            return [each["score"] for each in server.post("/rerank", BODY).json]

        before = pytest.approx(scores(), abs=1e-4)  # requests that are scored together differ in the last digit
        statuses, done = [], threading.Event()

        def ask():
            while not done.is_set():
                statuses.append(server.post("/rerank", BODY).status)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        config = (folder / "config.json").read_bytes()
        (folder / "config.json").write_bytes(config[:100])
        server.process.send_signal(signal.SIGHUP)
        assert not server.wait_for("reload")["ok"]
        assert scores() == before
        train("mv-lstm", folder, seed=2)
        server.process.send_signal(signal.SIGHUP)
        assert server.wait_for("reload", 2)["ok"]
        assert scores() != before
        done.set()
        asking.join()
        assert len(statuses) > 3
        assert set(statuses) == {200}


def test_kill_during_changes_loses_nothing_that_was_answered(models, tmp_path):
    index = make_index(tmp_path / "index", models[0])
    answered = []
    with running(tmp_path, "--index", index) as server:

        def put():
            for number in range(1000):
                documents = [{"id": f"{number}-{i}", "text": f"text {number} {i}"} for i in range(3)]
                try:
                    if server.send("PUT", "/documents", {"documents": documents}).status == 200:
                        answered.extend(each["id"] for each in documents)
                except OSError:
                    return

        putting = threading.Thread(target=put)
        putting.start()
        while len(answered) < 12:
            time.sleep(0.01)
        server.process.kill()
        putting.join(20)
    with Index.open(index) as opened:
        opened.update([{"id": "last", "text": "repairs what was interrupted"}])
        opened.check()
        assert len(answered) >= 12
        assert set(opened.documents.lookup(answered)) == set(answered)


def test_workers_share_the_index_and_the_metrics_and_are_started_again(models, tmp_path):
    index = make_index(tmp_path / "index", models[0])
    with running(tmp_path, models[0], "--index", index, "--workers", "2") as server:
        server.wait_for("ready", 2)

        def put(number):
            return server.send("PUT", "/documents", {"documents": [{"id": f"n{number}", "text": f"number {number}"}]})

        with ThreadPoolExecutor(4) as threads:
            assert {each.status for each in threads.map(put, range(8))} == {200}
        for _ in range(6):  # by either worker
            hits = server.post("/search", {"query": "number 5", "top": 20}).json["hits"]
            assert {f"n{number}" for number in range(8)} <= {each["id"] for each in hits}
        metrics = server.send("GET", "/metrics").content.decode()
        assert 'pairlight_requests_total{route="/documents",status="200"} 8.0' in metrics
        children = subprocess.run(
            ["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True
        ).stdout.split()
        os.kill(int(children[0]), signal.SIGKILL)
        server.wait_for("ready", 3)
        assert server.post("/rerank", BODY).status == 200
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0


def fails(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pairlight", "serve", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_a_damaged_index_of_any_size_is_not_served(tmp_path, monkeypatch):
    monkeypatch.setattr("pairlight.search.index.CHECKED_DOCUMENTS", 0)
    folder = make_index(tmp_path / "index", None)
    path = folder / "vectors" / "vectors-0"
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(InputError, match="vectors-0 is damaged: index the documents again"):
        Backend(ServerSettings(index=folder)).load()


def test_what_cannot_be_served_is_one_line(models, tmp_path, monkeypatch, capsys):
    def message(*arguments):
        return fails(arguments, monkeypatch, capsys)

    assert "nothing to serve" in message()
    assert f"{tmp_path} is not a model" in message(tmp_path)
    assert "Two models are named 'mv'" in message(models[1], models[1])
    (tmp_path / "keys").write_text("\n", encoding="utf-8")
    assert "has no key" in message(models[1], "--api-key-file", tmp_path / "keys")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "choose another host or port. (option --port)" in message(models[1], "--port", taken.getsockname()[1])
    shutil.copytree(models[1], tmp_path / "model")
    config = json.loads((tmp_path / "model" / "config.json").read_bytes())
    (tmp_path / "model" / "config.json").write_text(json.dumps(config | {"format": 99}), encoding="utf-8")
    assert "has format 99" in message(tmp_path / "model", "--port", 0)


def test_a_missing_package_is_one_line_with_the_command_that_installs_it(monkeypatch, capsys):
    monkeypatch.setattr("pairlight.serve.installed.PACKAGES", ("httptools", "not_installed"))
    assert "not_installed: pip install 'pairlight[serve]'" in fails([], monkeypatch, capsys)
