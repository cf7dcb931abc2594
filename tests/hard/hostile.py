"""Generates hostile files and command lines for every reader and command, each from a number."""

import gzip
import json
import random
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairlight import Document, Index, Matcher
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
PAIR_NAMES = (
    ["left", "right", "label"],
    ["question", "answer", "score"],
    ["left", "right", "label", "left_id", "right_id"],
)
SMALL = ["--model", "mv-lstm", "--set", "hidden=4", "--set", "k=3", "--set", "dim=6", "--vectors", "none"]
SMALL += ["--set", "evidence=false", "--epochs", "1"]
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


def make_case(number: int, base: Base, folder: Path) -> Case:
    """The case of this number, whose files are written into an empty folder."""
    rng = random.Random(number)
    kind = rng.choices(list(KINDS), weights=[weight for weight, _ in KINDS.values()])[0]
    return KINDS[kind][1](rng, base, folder)


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
        _write_parquet(rng, path, names, rows)
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


def _write_parquet(rng: random.Random, path: Path, names: list[str], rows: list[list[str]]) -> None:
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


def _options(rng: random.Random, *choices: list[str]) -> list[str]:
    return [part for choice in choices if rng.random() < 0.3 for part in choice]


def score(rng: random.Random, base: Base, folder: Path) -> Case:
    source = table(rng, folder, rng.choice(PAIR_NAMES))
    out = folder / f"out.{rng.choice(('tsv', 'csv', 'jsonl', 'parquet'))}" if rng.random() < 0.7 else None
    options = _options(
        rng, ["--skip-bad-rows"], ["--probability"], ["--as-label"], ["--left", "left"], ["--score-column", "left"]
    )
    return Case("score", ["score", str(base.model), str(source), *(["--out", str(out)] if out else []), *options], out)


def rank(rng: random.Random, base: Base, folder: Path) -> Case:
    query, options = (
        text(rng).replace("\0", ""),
        _options(rng, ["--json"], ["--top", rng.choice(("1", "1000000", "0", "-1", "x"))]),
    )
    if rng.random() < 0.5:
        source = table(rng, folder, ["id", "text"])
    else:
        source = folder / f"{INPUT}.txt"
        lines = rng.choice(("\n", "\r\n", "\r")).join(text(rng) for _ in range(rng.randrange(20)))
        source.write_bytes(
            damaged(rng, lines.encode("utf-8", "surrogatepass"))
            if rng.random() < 0.3
            else lines.encode("utf-8", "replace")
        )
    return Case(
        "rank",
        ["rank", str(base.model), "--", query, str(source)]
        if query.startswith("-")
        else ["rank", str(base.model), query, str(source), *options],
    )


def encode(rng: random.Random, base: Base, folder: Path) -> Case:
    out = folder / "out.safetensors"
    dtype = rng.choice(("fp32", "fp16", "int8", "fp8", ""))
    return Case(
        "encode",
        ["encode", str(base.model), str(table(rng, folder, ["id", "text"])), "--out", str(out), "--dtype", dtype],
        out,
    )


def evaluate(rng: random.Random, base: Base, folder: Path) -> Case:
    return Case(
        "evaluate",
        ["evaluate", str(base.model), str(table(rng, folder, rng.choice(PAIR_NAMES))), *_options(rng, ["--json"])],
    )


def calibrate(rng: random.Random, base: Base, folder: Path) -> Case:
    shutil.copytree(base.model, folder / "model")
    return Case("calibrate", ["calibrate", str(folder / "model"), str(table(rng, folder, rng.choice(PAIR_NAMES)))])


def trec(rng: random.Random, base: Base, folder: Path) -> Case:
    ids = ("q1", "q2", "d1", "d2", "d3", "q\0", "日本", "\u00a0", "d" * 1000)

    def lines(form: Callable[[], str]) -> bytes:
        content = "\n".join(form() for _ in range(rng.choice((0, 1, 5, 20)))).encode()
        return damaged(rng, content) if rng.random() < 0.3 else content

    grades = ("0", "1", "2", "-1", "99999999999999999999", "1.5", "-99999999999")
    (folder / f"{INPUT}.qrels").write_bytes(
        lines(lambda: f"{rng.choice(ids)} 0 {rng.choice(ids)} {rng.choice(grades)}")
    )
    (folder / f"{INPUT}.run").write_bytes(
        lines(lambda: f"{rng.choice(ids)} Q0 {rng.choice(ids)} 1 {rng.choice(NUMBERS)} tag")
    )
    return Case("trec", ["evaluate", "--qrels", str(folder / f"{INPUT}.qrels"), "--run", str(folder / f"{INPUT}.run")])


def train(rng: random.Random, base: Base, folder: Path) -> Case:
    source = table(rng, folder, rng.choice(PAIR_NAMES))
    model = ["--model", rng.choice(("bm25", "random"))] if rng.random() < 0.5 else SMALL
    return Case("train", ["train", str(source), "--out", str(folder / "out"), "--init", "none", *model])


def options(rng: random.Random, base: Base, folder: Path) -> Case:
    numbers = ("-1", "0", "1", "2", "2147483647", "99999999999999999999", "nan", "inf", "1e39", "3e38", "x", "")
    flags = (
        "lr",
        "init-scale",
        "margin",
        "epsilon",
        "weight-decay",
        "max-grad-norm",
        "softmax-scale",
        "batch",
        "patience",
    )
    flags += (
        "negatives-per-positive",
        "top",
        "extra-words",
        "min-count",
        "max-length",
        "seed",
        "threads",
        "loss",
        "metric",
    )
    settings = (
        "k",
        "hidden",
        "dim",
        "mlp",
        "channels",
        "dropout",
        "self",
        "model",
        "vocab",
        "evidence",
        "gate",
        "",
        "a=b",
    )
    given = [part for _ in range(rng.randrange(1, 3)) for part in (f"--{rng.choice(flags)}", rng.choice(numbers))]
    if rng.random() < 0.5:
        given += ["--set", f"{rng.choice(settings)}={rng.choice(numbers)}"]
    if rng.random() < 0.3:
        value = {
            "model": rng.choice(("mv-lstm", 3, "x")),
            "settings": rng.choice(({}, {"k": rng.choice(VALUES)}, rng.choice(VALUES))),
        }
        value["options"] = {rng.choice(("lr", "epochs", "self", "batch")): rng.choice(VALUES)}
        content = json.dumps(value).encode()
        (folder / f"{INPUT}.json").write_bytes(damaged(rng, content) if rng.random() < 0.4 else content)
        given += ["--settings", str(folder / f"{INPUT}.json")]
        return Case(
            "options",
            [
                "train",
                str(base.pairs),
                "--out",
                str(folder / "out"),
                "--init",
                "none",
                "--vectors",
                "none",
                "--epochs",
                "0",
                *given,
            ],
        )
    return Case(
        "options",
        ["train", str(base.pairs), "--out", str(folder / "out"), "--init", "none", *SMALL, *given, "--epochs", "0"],
    )


def vectors(rng: random.Random, base: Base, folder: Path) -> Case:
    words = "".join(f"{word} {rng.random():.3f} {rng.choice(NUMBERS[:9])}\n" for word in WORDS)
    binary = f"{len(WORDS)} 2\n".encode() + b"".join(f"{word} ".encode() + struct.pack("<2f", 1, 2) for word in WORDS)
    fasttext = struct.pack("<2i12id3i2q", 793712314, 12, 2, 5, 5, 1, 5, 1, 1, 2, 3, 3, 6, 0, 0.1, 1, 1, 0, 1, -1)
    fasttext += b"bama\0" + struct.pack("<qb", 1, 0) + b"\0" + struct.pack("<2q", 4, 2) + bytes(32)
    name, content = rng.choice(
        ((".vec", words.encode()), (".bin", binary), (".bin", fasttext), (".vec.gz", gzip.compress(words.encode())))
    )
    path = folder / f"{INPUT}{name}"
    path.write_bytes(damaged(rng, content) if rng.random() < 0.8 else content)
    rest = ["--model", "mv-lstm", "--set", "hidden=4", "--set", "evidence=false", "--epochs", "0", "--init", "none"]
    return Case("vectors", ["train", str(base.pairs), "--out", str(folder / "out"), "--vectors", str(path), *rest])


def model_folder(rng: random.Random, base: Base, folder: Path) -> Case:
    shutil.copytree(base.model, folder / "model")
    _damage_one(rng, folder / "model")
    command = rng.choice(
        (
            ["score", str(folder / "model"), str(base.pairs)],
            ["rank", str(folder / "model"), "bama delo", str(base.texts)],
        )
    )
    return Case("model folder", command)


def encodings(rng: random.Random, base: Base, folder: Path) -> Case:
    path = folder / f"{INPUT}.safetensors"
    path.write_bytes(damaged(rng, base.encodings.read_bytes()))
    return Case("encodings", ["rank", str(base.model), "bama delo", "--encoded", str(path)])


def checkpoint(rng: random.Random, base: Base, folder: Path) -> Case:
    shutil.copytree(base.run, folder / "run")
    _damage_one(rng, folder / "run")
    command = [
        "train",
        str(base.pairs),
        "--dev",
        str(base.pairs),
        "--out",
        str(folder / "run"),
        "--init",
        "none",
        *SMALL,
    ]
    return Case("checkpoint", [*command, "--epochs", "2", "--resume"])


def index_folder(rng: random.Random, base: Base, folder: Path) -> Case:
    shutil.copytree(base.index, folder / "index")
    _damage_one(rng, folder / "index")
    if rng.random() < 0.7:
        return Case("index folder", ["search", str(folder / "index"), "bama delo"])
    return Case("index folder", ["index", "add", str(folder / "index"), str(base.texts)])


def index_documents(rng: random.Random, base: Base, folder: Path) -> Case:
    source = table(rng, folder, rng.choice((["id", "text"], ["id", "title", "text", "lang"], ["text"])))
    stage = rng.choice(("bm25", "hybrid", "vectors", "x"))
    return Case(
        "index", ["index", str(source), "--out", str(folder / "out"), "--model", "none", "--first-stage", stage]
    )


def search(rng: random.Random, base: Base, folder: Path) -> Case:
    query = text(rng).replace("\0", "")
    given = _options(
        rng,
        ["--where", rng.choice(("lang=en", "=", "x", "a=\x1b", "lang=" + "x" * 999))],
        ["--offset", "1000000"],
        ["--first", "1000000"],
        ["--json"],
    )
    return Case("search", ["search", str(base.index), *given, "--", query])


def build(rng: random.Random, base: Base, folder: Path) -> Case:
    source = table(rng, folder, rng.choice(PAIR_NAMES))
    return Case("build", ["build", rng.choice(("qa", "citation")), str(source), "--out", str(folder / "out")])


def explain(rng: random.Random, base: Base, folder: Path) -> Case:
    left, right = (text(rng).replace("\0", "") for _ in range(2))
    out = folder / "out.html"
    return Case(
        "explain", ["explain", str(base.model), "--html", str(out), *_options(rng, ["--json"]), "--", left, right], out
    )


KINDS: dict[str, tuple[int, Callable[[random.Random, Base, Path], Case]]] = {
    "score": (20, score),
    "rank": (16, rank),
    "encode": (6, encode),
    "evaluate": (10, evaluate),
    "calibrate": (3, calibrate),
    "trec": (8, trec),
    "train": (4, train),
    "options": (5, options),
    "vectors": (4, vectors),
    "model folder": (14, model_folder),
    "encodings": (10, encodings),
    "checkpoint": (3, checkpoint),
    "index folder": (6, index_folder),
    "index": (4, index_documents),
    "search": (4, search),
    "build": (2, build),
    "explain": (1, explain),
}


def _damage_one(rng: random.Random, folder: Path) -> None:
    path = rng.choice(sorted(file for file in folder.rglob("*") if file.is_file()))
    if rng.random() < 0.1:
        path.unlink()
    else:
        path.write_bytes(damaged(rng, path.read_bytes()))
