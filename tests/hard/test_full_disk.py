"""A disk that is full: every writing command ends in one clear line and loses nothing, and the next one continues."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from cli.helpers import write_pairs
from hard.hostile_files import SMALL as TINY
from hard.hostile_files import Base
from pairlight import Index, Matcher
from serve.server import running
from toy_pairs import overlap

pytestmark = pytest.mark.hard
SIZE = 2_000_000  # bytes of the disk
SMALL = ["--vectors", "none", "--epochs", "1"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return Base(tmp_path_factory.mktemp("base") / "base")


@pytest.fixture
def disk(tmp_path):
    """A file system of its own in memory, which only root may mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a disk")
    options = ["-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("this system does not let root mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk, leave=0):
    """Fill the disk up to `leave` bytes."""
    with open(disk / "filler", "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4096)
        file.truncate(max(0, file.tell() - leave))


def pairlight(*arguments):
    command = [sys.executable, "-m", "pairlight", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def files_of(path):
    """The contents of a file, or of all files of a folder, without those that have times in them."""
    if path.is_file():
        return path.read_bytes()
    found = sorted(each for each in path.rglob("*") if each.is_file() and each.suffix not in (".html", ".md", ".png"))
    return {str(each.relative_to(path)): _content(each) for each in found}


def _content(path):
    if path.suffix not in (".json", ".jsonl"):
        return path.read_bytes()
    return [_without_times(json.loads(line)) for line in _lines(path)]


def _lines(path):
    return path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]


def _without_times(value):
    if isinstance(value, dict):
        times = ("seconds", "train_seconds", "sha256", "command")
        return {name: _without_times(each) for name, each in value.items() if name not in times}
    return [_without_times(each) for each in value] if isinstance(value, list) else value


def commands(base, folder):
    """The arguments of every writing command; the path of its result, in the folder, is the last of them."""
    asked = folder / "asked.tsv"
    pairs = overlap(8, seed=0)
    rows = [f"{pairs.texts[i]}\t{pairs.texts[j]}" for i, j in zip(pairs.left[::4], pairs.right[::4], strict=True)]
    asked.write_text("left\tright\n" + "\n".join(rows) + "\n")
    return {
        "train": ["train", base.pairs, "--init", "none", *TINY, "--out"],
        "score": ["score", base.model, base.pairs, "--out"],
        "score folder": ["score", base.model, base.parquet, "--out"],
        "encode": ["encode", base.model, base.texts, "--out"],
        "build": ["build", "citation", asked, "--out"],
        "compare": ["compare", base.pairs, "--models", "bm25,random", "--seeds", "1", "--jobs", "1", "--out"],
        "tune": ["tune", base.pairs, "--try", "hidden=2", "--trials", "1", *SMALL, "--out"],
        "index": ["index", base.texts, "--model", "none", "--out"],
    }


NAMES = ("train", "score", "score folder", "encode", "build", "compare", "tune", "index")
SUFFIXES = {"score": ".tsv"}


@pytest.mark.parametrize("leave", [0, 16_384])
@pytest.mark.parametrize("name", NAMES)
def test_a_command_on_a_full_disk_is_one_line_and_continues_when_there_is_space(name, leave, base, disk, tmp_path):
    arguments = commands(base, tmp_path)[name]
    out = disk / f"out{SUFFIXES.get(name, '')}"
    fill(disk, leave)
    done = pairlight(*arguments, out)
    if leave == 0 or done.returncode:
        assert done.returncode == 1, done.stderr
        last = done.stderr.splitlines()[-1]
        assert last.startswith("pairlight: No space left on device"), done.stderr
        assert "Traceback" not in done.stderr
    (disk / "filler").unlink()
    if done.returncode:
        again = pairlight(*arguments, out)
        assert again.returncode == 0, again.stderr
    if name == "index":
        with Index.open(out) as index:
            index.check()
            assert sorted(each.text for each in index.documents.all_documents()) == sorted(
                base.texts.read_text().splitlines()
            )
        return
    other = tmp_path / f"other{SUFFIXES.get(name, '')}"
    assert pairlight(*arguments, other).returncode == 0
    assert files_of(out) == files_of(other)


@pytest.mark.parametrize("name", NAMES)
def test_a_read_only_disk_is_one_line(name, base, disk, tmp_path):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = pairlight(*commands(base, tmp_path)[name], disk / f"out{SUFFIXES.get(name, '')}")
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith("pairlight: Read-only file system"), done.stderr
    assert "Traceback" not in done.stderr


def test_an_index_on_a_read_only_disk_is_searched_and_cannot_be_changed(base, disk):
    shutil.copytree(base.index, disk / "index")
    before = pairlight("search", disk / "index", "bama")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = pairlight("search", disk / "index", "bama")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:-1] == before.stdout.splitlines()[:-1]  # the last line has times
    done = pairlight("index", "add", disk / "index", base.texts)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith("pairlight: Read-only file system"), done.stderr


def test_saving_a_model_on_a_full_disk_keeps_the_one_that_was_there(base, disk):
    matcher = Matcher.load(base.model)
    matcher.save(disk / "model")
    before = files_of(disk / "model")
    fill(disk)
    with pytest.raises(OSError, match="No space left"):
        matcher.save(disk / "model")
    assert files_of(disk / "model") == before
    (disk / "filler").unlink()
    matcher.save(disk / "model")
    assert files_of(disk / "model") == before


def test_a_document_that_finds_no_space_is_refused_and_can_be_sent_again(base, disk, tmp_path):
    shutil.copytree(base.index, disk / "index")
    with running(tmp_path, base.model, "--index", disk / "index") as server:
        documents = [{"id": f"new{number}", "text": f"parcel {number}"} for number in range(50)]
        fill(disk)
        answer = server.send("PUT", "/documents", {"documents": documents})
        assert answer.status == 507, answer.content
        assert server.post("/search", {"query": "bama"}).status == 200
        (disk / "filler").unlink()
        assert server.send("PUT", "/documents", {"documents": documents}).status == 200
        hits = server.post("/search", {"query": "parcel", "top": 100, "first": 200}).json["hits"]
        found = sorted(each["id"] for each in hits if each["id"].startswith("new"))
        assert found == sorted(each["id"] for each in documents)


def test_the_tool_itself_a_disk_that_is_filled_takes_no_more(disk):
    fill(disk)
    with pytest.raises(OSError, match="No space left"):
        write_pairs(disk / "pairs.tsv", overlap(100, seed=0))
