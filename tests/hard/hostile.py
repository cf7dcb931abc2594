"""Generates hostile command lines for every command, each from a number."""

import gzip
import json
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

from hard import hostile_jobs
from hard.hostile_files import (
    INPUT,
    NUMBERS,
    PAIR_NAMES,
    SMALL,
    VALUES,
    WORDS,
    Base,
    Case,
    damage_one,
    damaged,
    some_options,
    table,
    text,
)


def make_case(number: int, base: Base, folder: Path) -> Case:
    """The case of this number, whose files are written into an empty folder."""
    rng = random.Random(number)
    kind = rng.choices(list(KINDS), weights=[weight for weight, _ in KINDS.values()])[0]
    return KINDS[kind][1](rng, base, folder)


def score(rng: random.Random, base: Base, folder: Path) -> Case:
    source = table(rng, folder, rng.choice(PAIR_NAMES))
    out = folder / f"out.{rng.choice(('tsv', 'csv', 'jsonl', 'parquet'))}" if rng.random() < 0.7 else None
    options = some_options(
        rng, ["--skip-bad-rows"], ["--probability"], ["--as-label"], ["--left", "left"], ["--score-column", "left"]
    )
    return Case("score", ["score", str(base.model), str(source), *(["--out", str(out)] if out else []), *options], out)


def rank(rng: random.Random, base: Base, folder: Path) -> Case:
    query, options = (
        text(rng).replace("\0", ""),
        some_options(rng, ["--json"], ["--top", rng.choice(("1", "1000000", "0", "-1", "x"))]),
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
        ["evaluate", str(base.model), str(table(rng, folder, rng.choice(PAIR_NAMES))), *some_options(rng, ["--json"])],
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
    damage_one(rng, folder / "model")
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
    damage_one(rng, folder / "run")
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
    damage_one(rng, folder / "index")
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
    given = some_options(
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
        "explain",
        ["explain", str(base.model), "--html", str(out), *some_options(rng, ["--json"]), "--", left, right],
        out,
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
    "compare": (2, hostile_jobs.compare),
    "tune": (2, hostile_jobs.tune),
    "reproduce": (3, hostile_jobs.reproduce),
    "serve": (3, hostile_jobs.serve),
    "score folder": (4, hostile_jobs.score_folder),
    "encode folder": (3, hostile_jobs.encode_folder),
    "shards": (1, hostile_jobs.shards),
    "index change": (2, hostile_jobs.index_change),
    "datasets": (3, hostile_jobs.datasets),
    "settings": (2, hostile_jobs.settings),
    "others": (2, hostile_jobs.others),
}
