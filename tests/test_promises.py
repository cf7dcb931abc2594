"""The promises of docs/promises.md name tests that exist; nothing that is read is executed, and no network is used."""

import re
import socket
import sys
from pathlib import Path

import pytest

from cli.helpers import SMALL, write_pairs
from pairlight import Matcher, cli
from pairlight.experiments import executor
from toy_pairs import overlap

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/promises.md").read_text("utf-8")
EXECUTES = re.compile(
    r"pickle\.loads?\(|torch\.load\(|joblib|dill\.|yaml\.load|allow_pickle=True|(?<![.\w])(?<!def )(eval|exec)\("
)


@pytest.mark.parametrize("name", re.findall(r"`(tests/[^`]+::[^`]+)`", PAGE))
def test_the_test_of_every_promise_exists(name):
    path, _, test = name.partition("::")
    assert f"def {test}" in (ROOT / path).read_text("utf-8")


def test_nothing_that_is_read_is_executed():
    sources = [path for path in (ROOT / "src").rglob("*.py") if EXECUTES.search(path.read_text("utf-8"))]
    assert [path.name for path in sources] == ["executor.py"]  # tries whether an error survives the way to its parent


def test_commands_open_no_connection(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    # Runs of `compare` in this process, where connections are refused.
    monkeypatch.setattr(executor, "ProcessExecutor", lambda jobs: executor.SerialExecutor())
    pairs = overlap(8, seed=0)
    matcher = Matcher("mv-lstm", hidden=4, k=3, dim=6)
    matcher.fit(pairs, dev=pairs, vectors="none", epochs=1, init=None, progress=False).save(tmp_path / "model")
    (tmp_path / "texts.txt").write_text("\n".join(pairs.texts), encoding="utf-8")
    data, asked = write_pairs(tmp_path / "pairs.tsv", pairs), tmp_path / "asked.tsv"
    rows = [f"{pairs.texts[i]}\t{pairs.texts[j]}\n" for i, j in zip(pairs.left[::4], pairs.right[::4], strict=True)]
    asked.write_text("left\tright\n" + "".join(rows), encoding="utf-8")
    for command in (
        ["rank", tmp_path / "model", "bama", tmp_path / "texts.txt"],
        ["rank", "qa-small", "bama", tmp_path / "texts.txt"],
        ["encode", tmp_path / "model", tmp_path / "texts.txt", "--out", tmp_path / "encodings"],
        ["index", tmp_path / "texts.txt", "--out", tmp_path / "index", "--model", tmp_path / "model"],
        ["search", tmp_path / "index", "bama"],
        ["explain", tmp_path / "model", "bama delo", "bama"],
        ["score", tmp_path / "model", data, "--out", tmp_path / "scored.tsv"],
        ["evaluate", tmp_path / "model", data],
        ["train", data, *SMALL, "--out", tmp_path / "trained"],
        ["build", "citation", asked, "--out", tmp_path / "dataset"],
        ["compare", data, "--models", "bm25,random", "--seeds", "1", "--jobs", "1", "--out", tmp_path / "compared"],
    ):
        monkeypatch.setattr(sys, "argv", ["pairlight", *map(str, command)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert not stopped.value.code, capsys.readouterr().err
