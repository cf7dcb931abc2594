"""Generates hostile files: tables in all formats, and damaged copies of what pairlight has written."""

import gzip
import json
import random
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from typer.main import get_command

from pairlight import Document, Index, Matcher, cli
from toy_pairs import overlap

WORDS = ("bama", "delo", "kiru", "the", "a", "match", "47", "-", "it's")
TEXTS = (
    "",
    " ",
    "\t",
    "\0",
    "bama\0delo",
    "\ufeff",
    "\u202edelo",
    "猫は好き",
    "e\u0301\u0301\u0301",
    "👩‍👩‍👧‍👦" * 20,
    "\x1b[2J",
    "a" * 5000,
    "bama " * 3000,
    "(" * 300,
    "((bama delo) (kiru))",
    '"',
    '"open quote',
    "a,b",
    "a\tb",
    "a\rb",
    "a\nb",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "NaN",
    "null",
    "\ud800",
    "ſ" * 100,
    "\U0010ffff",
    "%s%n{0}",
)
NUMBERS = (
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "nan",
    "inf",
    "1e999",
    "1e39",
    "1_0",
    "",
    "yes",
    "0x1",
    "１",
    "9" * 400,
    "1e-400",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    0.5,
    float("inf"),
    float("nan"),
    10**30,
    -(2**63),
    2**31,
    "",
    "x" * 1000,
    [],
    {},
    [[]],
    {"": None},
    "\ud800",
    "mv-lstm",
    1e39,
)
PAIR_NAMES: tuple[list[str], ...] = (
    ["left", "right", "label"],
    ["question", "answer", "score"],
    ["left", "right", "label", "left_id", "right_id"],
)
SMALL = ["--model", "mv-lstm", "--set", "hidden=4", "--set", "k=3", "--set", "dim=6", "--vectors", "none"]
SMALL += ["--set", "evidence=false", "--epochs", "1"]
PANEL = Path(__file__).parents[2] / "docs" / "panel"
INPUT = "input"  # of file names: those that a command reads


@dataclass(frozen=True)
class Case:
    """A command with the files it reads, and where it may write."""

    kind: str
    arguments: list[str]
    out: Path | None = None  # a file that exists afterwards only if the command has succeeded


class Base:
    """What valid commands need: a model, encodings, a checkpoint, an index and pairs. Cases damage copies of them."""

    def __init__(self, folder: Path) -> None:
        self.model, self.encodings, self.run = folder / "model", folder / "encodings.safetensors", folder / "run"
        self.index, self.pairs, self.texts = folder / "index", folder / "pairs.tsv", folder / "texts.txt"
        shutil.rmtree(folder, ignore_errors=True)  # the formats of files may have changed
        folder.mkdir(parents=True)
        pairs = overlap(12, seed=0)
        texts = [(pairs.texts[i], pairs.texts[j]) for i, j in zip(pairs.left, pairs.right, strict=True)]
        rows = zip(pairs.left, pairs.right, pairs.labels, strict=True)
        lines = [f"{pairs.texts[i]}\t{pairs.texts[j]}\t{label:g}\n" for i, j, label in rows]
        self.pairs.write_text("left\tright\tlabel\n" + "".join(lines), encoding="utf-8")
        self.texts.write_text("\n".join(pairs.texts) + "\n", encoding="utf-8")
        matcher = Matcher("mv-lstm", hidden=4, k=3, dim=6, evidence=False)
        options = {"vectors": "none", "baseline": False, "progress": False, "init": None}
        matcher.fit(pairs, dev=pairs, epochs=1, folder=self.run / "training", **options).save(self.model)
        matcher.encode(pairs.texts).save(self.encodings)
        documents = [Document(f"d{n}", text, {"lang": "en"}) for n, text in enumerate(pairs.texts)]
        Index.create(self.index, documents, model=self.model).close()
        self.parquet, self.scored, self.encoded, self.shards = (
            folder / name for name in ("parquet", "scored", "encoded", "shards")
        )
        self.compared, self.tuned, self.reproduced = (folder / name for name in ("compared", "tuned", "reproduced"))
        self.parquet.mkdir()
        sides = {"left": [each[0] for each in texts], "right": [each[1] for each in texts]}
        ids = [str(n) for n in range(len(texts))]
        for name, part in (("a", slice(0, 20)), ("b", slice(20, None))):
            columns = {column: values[part] for column, values in sides.items()}
            pq.write_table(
                pa.table({"id": ids[part], "text": columns["left"], **columns}), self.parquet / f"{name}.parquet"
            )
        run("score", self.model, self.parquet, "--out", self.scored)
        run("encode", self.model, self.parquet, "--out", self.encoded)
        run("index", self.parquet, "--model", "none", "--out", self.shards)
        compared = ["--models", "bm25,random", "--seeds", "1", "--jobs", "1", "--out", self.compared]
        run("compare", self.pairs, *compared)
        tuned = ["--try", "hidden=2", "--trials", "1", "--epochs", "1", "--vectors", "none"]
        run("tune", self.pairs, *tuned, "--out", self.tuned)
        self.reproduced.mkdir()
        for name in ("panel", "defaults"):
            lines = (PANEL / f"{name}.jsonl").read_text("utf-8").splitlines(keepends=True)
            (self.reproduced / f"{name}.jsonl").write_text("".join(lines[:5]), "utf-8")


@contextmanager
def one_process() -> Iterator[None]:
    """Let commands start no other processes, and let a server end when it is ready."""
    from pairlight.experiments import executor
    from pairlight.serve.server import _Server

    load = _Server._load

    async def load_and_stop(server: _Server) -> None:
        await load(server)
        server.should_exit = True

    one = patch.object(executor, "ProcessExecutor", lambda jobs: executor.SerialExecutor())
    with one, patch.object(_Server, "_load", load_and_stop):
        yield


def run(*arguments: object) -> None:
    """Run a command that succeeds, in this process."""
    with one_process(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        code = get_command(cli.app_with(cli.COMMANDS)).main([str(each) for each in arguments], standalone_mode=False)
    if code:
        raise RuntimeError(f"{arguments}: exit code {code}")


def damaged(rng: random.Random, content: bytes) -> bytes:
    """The content cut, with changed, removed, repeated or inserted bytes, or something else altogether."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, size = rng.randrange(len(data) + 1), rng.choice((1, 1, 2, 8, 100, 10_000))
        match rng.randrange(8):
            case 0:
                del data[at:]
            case 1:
                for _ in range(size if data else 0):
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            case 2:
                data[at : at + size] = bytes(len(data[at : at + size]))
            case 3:
                del data[at : at + size]
            case 4:
                data[at:at] = rng.randbytes(size)
            case 5:
                data[at:at] = data[at : at + size]
            case 6:
                data[at : at + 8] = struct.pack("<q", rng.choice((-1, 0, 2**31 - 1, 2**62, 10**9)))
            case 7:
                data = bytearray(rng.choice((b"", b"\0" * size, rng.randbytes(size), b"[" * 100_000, b"{}", b"null")))
    return bytes(data)


def text(rng: random.Random) -> str:
    if rng.random() < 0.75:
        return " ".join(rng.choices(WORDS, k=rng.randrange(1, 12)))
    return rng.choice(TEXTS)


def cell(rng: random.Random, name: str) -> str:
    if name in ("label", "score"):
        return rng.choice(NUMBERS) if rng.random() < 0.3 else rng.choice(("0", "1"))
    if name.endswith("id"):
        return rng.choice(("q1", "q2", "q3", text(rng)))
    return text(rng)


def table(rng: random.Random, folder: Path, names: list[str]) -> Path:
    """A table in any format, of hostile cells, in any encoding, perhaps compressed, perhaps damaged."""
    names = [*names, rng.choice(("extra", "", "left", "\ud800", "score"))] if rng.random() < 0.1 else list(names)
    kind = rng.choice(("tsv", "csv", "jsonl", "parquet"))
    rows = [[cell(rng, name) for name in names] for _ in range(rng.choice((0, 1, 2, 5, 20)))]
    path = folder / f"{INPUT}.{kind}"
    if kind == "parquet":
        write_parquet(rng, path, names, rows)
    else:
        path = _write_lines(rng, path, kind, names, rows)
    if rng.random() < 0.2:
        path.write_bytes(damaged(rng, path.read_bytes()))
    return path


def _write_lines(rng: random.Random, path: Path, kind: str, names: list[str], rows: list[list[str]]) -> Path:
    if kind == "jsonl":
        values = [
            {n: rng.choice(VALUES) if rng.random() < 0.05 else c for n, c in zip(names, row, strict=True)}
            for row in rows
        ]
        lines = [json.dumps(value, ensure_ascii=rng.random() < 0.5) for value in values]
        if rng.random() < 0.05:
            lines.append("[" * rng.choice((500, 990, 100_000)))
        if rng.random() < 0.05:
            lines.append('{"left": "a", "right": "b", "label": 1, "extra": ' + "[" * 400 + "]" * 400 + "}")
    else:
        separator = "\t" if kind == "tsv" else ","
        quoted = rng.random() < 0.5 and kind == "csv"
        form = (lambda each: '"' + each.replace('"', '""') + '"') if quoted else str
        lines = [separator.join(map(form, row)) for row in [names, *rows]]
    content = rng.choice(("\n", "\n", "\n", "\r\n", "\r")).join([*lines, ""])
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig"))
    data = content.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    if rng.random() < 0.2:
        path, data = path.with_name(f"{path.name}.gz"), gzip.compress(data)
    path.write_bytes(data)
    return path


def write_parquet(rng: random.Random, path: Path, names: list[str], rows: list[list[str]]) -> None:
    def array(values: list[str]) -> pa.Array:
        clean = [value.encode("utf-8", "replace").decode() for value in values]
        size = len(values)
        match rng.randrange(14):
            case 0:
                offsets = struct.pack(f"<{size + 1}i", *range(0, 2 * size + 1, 2))
                return pa.Array.from_buffers(
                    pa.string(), size, [None, pa.py_buffer(offsets), pa.py_buffer(b"\xff\xfe" * size)]
                )
            case 1:
                return pa.array([rng.randrange(-(2**50), 2**50)] * size, pa.int64()).cast(
                    pa.timestamp(rng.choice(("s", "us")))
                )
            case 2:
                return pa.array([[value] for value in clean])
            case 3:
                return pa.array([value.encode() for value in clean])
            case 4:
                return pa.array([None] * size)
            case 5:
                return pa.array([float("nan")] * size)
            case 6:
                return pa.array(clean).dictionary_encode()
            case _:
                return pa.array(clean)

    columns = (
        [array(list(column)) for column in zip(*rows, strict=True)]
        if rows
        else [pa.array([], pa.string())] * len(names)
    )
    valid = [name.encode("utf-8", "replace").decode() for name in names]
    pq.write_table(pa.Table.from_arrays(columns, names=valid), path)


def damage_one(rng: random.Random, folder: Path) -> None:
    path = rng.choice(sorted(file for file in folder.rglob("*") if file.is_file()))
    if rng.random() < 0.1:
        path.unlink()
    else:
        path.write_bytes(damaged(rng, path.read_bytes()))


def some_options(rng: random.Random, *choices: list[str]) -> list[str]:
    """Some of these options with their values."""
    return [part for choice in choices if rng.random() < 0.3 for part in choice]
