"""Generates hostile command lines for commands that run many steps: experiments, jobs over folders, servers."""

import json
import random
import shutil
from pathlib import Path

from hard.hostile_files import (
    INPUT,
    NUMBERS,
    PAIR_NAMES,
    TEXTS,
    VALUES,
    Base,
    Case,
    damage_one,
    damaged,
    some_options,
    table,
    text,
    write_parquet,
)

NAMES = ("bm25", "random", "mv-lstm,", "", "x", "\x1b[2J", "bm25,bm25", "all,bm25")
COUNTS = ("0", "1", "2", "-1", "1000000000000", "x", "")


def compare(rng: random.Random, base: Base, folder: Path) -> Case:
    """New data, or a comparison that was stopped and whose files were damaged."""
    out = folder / "out"
    models = ["--models", rng.choice(NAMES) if rng.random() < 0.2 else "bm25,random", "--jobs", "1"]
    given = some_options(rng, ["--set", f"k={rng.choice(NUMBERS)}"], ["--json"], ["--metric", rng.choice(("MRR", "x"))])
    if rng.random() < 0.5:
        shutil.copytree(base.compared, out)
        damage_one(rng, out)
        seeds = rng.choice(("1", "1", "1", "2", *COUNTS))
        return Case("compare", ["compare", str(base.pairs), "--seeds", seeds, "--out", str(out), *models, *given])
    source = table(rng, folder, rng.choice(PAIR_NAMES))
    dev = ["--dev", str(base.pairs)] if rng.random() < 0.3 else []
    return Case("compare", ["compare", str(source), "--seeds", "1", "--out", str(out), *dev, *models, *given])


def tune(rng: random.Random, base: Base, folder: Path) -> Case:
    """New data, or a study that was stopped and whose files were damaged."""
    out = folder / "out"
    tried = ("hidden=2", "hidden=2", "hidden=2,3", "hidden=x", "=", "self=1", "hidden=" + "9" * 400, "k=,")
    rest = ["--epochs", "1", "--vectors", "none", "--out", str(out)]
    if rng.random() < 0.6:
        shutil.copytree(base.tuned, out)
        damage_one(rng, out)
        return Case("tune", ["tune", str(base.pairs), "--try", "hidden=2", "--trials", "1", *rest])
    source = str(table(rng, folder, rng.choice(PAIR_NAMES)) if rng.random() < 0.5 else base.pairs)
    trials = rng.choice(("1", "1", "1", *(each for each in COUNTS if each != "1000000000000")))
    model = some_options(rng, ["--model", rng.choice(("bm25", "mv-lstm", "x"))])
    return Case("tune", ["tune", source, "--try", rng.choice(tried), "--trials", trials, *model, *rest])


def reproduce(rng: random.Random, base: Base, folder: Path) -> Case:
    """The report of finished runs whose records were damaged, or an experiment that does not exist."""
    out = folder / "out"
    shutil.copytree(base.reproduced, out)
    if rng.random() < 0.8:
        damage_one(rng, out)
    name = rng.choice(("panel", "panel", "defaults", "search", "mv-lstm", "lcs ", "", "../x", "\x1b[2J", "list"))
    given = [] if name == "search" else ["--finished"]
    given += some_options(
        rng, ["--json"], ["--models", rng.choice(NAMES)], ["--data", rng.choice(("wikiqa", "x", ","))]
    )
    given += some_options(rng, ["--scale", rng.choice(("small", "x"))], ["--seeds", rng.choice(COUNTS)])
    return Case("reproduce", ["reproduce", name, "--out", str(out), "--jobs", "1", *given])


def serve(rng: random.Random, base: Base, folder: Path) -> Case:
    """A server of damaged files, or with odd options; it ends when it is ready."""
    given: list[str] = []
    if rng.random() < 0.7:
        shutil.copytree(base.model, folder / "model")
        given.append(str(folder / "model"))
        if rng.random() < 0.4:
            damage_one(rng, folder / "model")
    if rng.random() < 0.5:
        shutil.copytree(rng.choice((base.index, base.shards)), folder / "index")
        given += ["--index", str(folder / "index")]
        if rng.random() < 0.6:
            damage_one(rng, folder / "index")
    if rng.random() < 0.4:
        keys = text(rng).encode("utf-8", "surrogatepass")
        (folder / f"{INPUT}.keys").write_bytes(damaged(rng, keys) if rng.random() < 0.5 else keys)
        given += ["--api-key-file", str(folder / f"{INPUT}.keys")]
    hosts = ("127.0.0.1", "::1", "localhost", "x" * 100, "", "1.2.3.4", "a..b", "[::1]", "%", "\ud800", "127.0.0.1:80")
    origins = ("*", "http://[", "null", "http://a.example:99999", "", "\x00", "//", "http://" + "a" * 1000)
    given += some_options(rng, ["--host", rng.choice(hosts)], ["--cors", rng.choice(origins)])
    given += some_options(rng, ["--max-texts", rng.choice(COUNTS)], ["--max-waiting", rng.choice(COUNTS)])
    port = rng.choice(("0", "0", "0", "0", "1", "65536", "x"))
    return Case("serve", ["serve", *given, "--port", port])


def score_folder(rng: random.Random, base: Base, folder: Path) -> Case:
    """Parquet files in a folder: hostile ones, or a job that was stopped and whose files were damaged."""
    out = folder / "out"
    given = some_options(rng, ["--score-column", rng.choice(("left", "", "score"))], ["--probability"])
    if rng.random() < 0.4:
        shutil.copytree(base.scored, out)
        damage_one(rng, out)
        return Case("score folder", ["score", str(base.model), str(base.parquet), "--out", str(out)])
    return Case("score folder", ["score", str(base.model), str(_folder(rng, folder)), "--out", str(out), *given])


def encode_folder(rng: random.Random, base: Base, folder: Path) -> Case:
    out = folder / "out"
    if rng.random() < 0.5:
        shutil.copytree(base.encoded, out)
        damage_one(rng, out)
        return Case("encode folder", ["rank", str(base.model), "bama delo", "--encoded", str(out)])
    source = _folder(rng, folder, (["id", "text"], ["text"]))
    return Case("encode folder", ["encode", str(base.model), str(source), "--out", str(out)])


def shards(rng: random.Random, base: Base, folder: Path) -> Case:
    """An index of shards: of hostile Parquet files, or whose files were damaged."""
    if rng.random() < 0.3:
        source = _folder(rng, folder, (["id", "text"], ["id", "title", "text"], ["text"]))
        return Case("shards", ["index", str(source), "--model", "none", "--out", str(folder / "out")])
    shutil.copytree(base.shards, folder / "index")
    damage_one(rng, folder / "index")
    return Case("shards", ["search", str(folder / "index"), "bama delo"])


def index_change(rng: random.Random, base: Base, folder: Path) -> Case:
    """Hostile documents, ids, queries and judgements for an index."""
    shutil.copytree(base.index, folder / "index")
    place = str(folder / "index")
    match rng.randrange(3):
        case 0:
            names = rng.choice((["id", "text"], ["id", "title", "text", "lang"], ["text"]))
            return Case("index change", ["index", rng.choice(("add", "update")), place, str(table(rng, folder, names))])
        case 1:
            ids = [text(rng).replace("\0", "") for _ in range(rng.randrange(4))]
            return Case("index change", ["index", "delete", place, "--", *ids])
        case _:
            queries = table(rng, folder, ["id", "text"])
            judged = (f"{rng.choice(('q1', 'q2', 'x'))} 0 d{rng.randrange(9)} {rng.choice(NUMBERS)}" for _ in range(9))
            content = "\n".join(judged).encode()
            (folder / f"{INPUT}.qrels").write_bytes(damaged(rng, content) if rng.random() < 0.3 else content)
            qrels = str(folder / f"{INPUT}.qrels")
            return Case("index change", ["index", "tune", place, "--queries", str(queries), "--qrels", qrels])


def datasets(rng: random.Random, base: Base, folder: Path) -> Case:
    """The files of a named dataset, as `data show` and `train` read them."""
    name = rng.choice(("wikiqa", "quora", "x", "\x1b[2J"))
    for split in ("train", "dev", "test"):
        rows = [
            f"Q{n}\t{text(rng)}\tD1\tx\tD{n}\t{text(rng)}\t{rng.choice(NUMBERS)}\n" if name == "wikiqa" else
            f"{rng.choice(NUMBERS)}\t{text(rng)}\t{text(rng)}\t{n}\n"
            for n in range(rng.randrange(5))
        ]  # fmt: skip
        head = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
        content = (head * (name == "wikiqa") + "".join(rows)).encode("utf-8", "replace")
        file = folder / (f"WikiQA-{split}.tsv" if name == "wikiqa" else f"{split}.tsv")
        file.write_bytes(damaged(rng, content) if rng.random() < 0.2 else content)
    lists = rng.choice(("1", "3", *COUNTS))
    return Case("datasets", ["data", "show", name, "--folder", str(folder), "--lists", lists])


def others(rng: random.Random, base: Base, folder: Path) -> Case:
    """The commands that read no files: models, doctor, demo, cluster, data list."""
    folder.joinpath("other").write_text("not a model")
    odd = rng.choice([each for each in TEXTS if "\0" not in each])
    command = rng.choice(
        (
            ["models", "--", odd],
            ["doctor", "--threads", rng.choice((*COUNTS, *NUMBERS))],
            ["demo", "--out", str(rng.choice((folder, folder / "other")))],
            ["demo", "--seed", rng.choice(("-1", "x", "99999999999999999999"))],
            ["cluster", "check", odd],
            ["data", rng.choice(("list", "x")), "--json"],
        )
    )
    return Case("others", command)


def settings(rng: random.Random, base: Base, folder: Path) -> Case:
    """The settings that `tune` found, changed by hand or by damage."""
    content = json.loads((base.tuned / "settings.json").read_bytes())
    match rng.randrange(4):
        case 0:
            content[rng.choice((*content, "x"))] = rng.choice(VALUES)
        case 1:
            content["options"][rng.choice((*content["options"], "x", "seed"))] = rng.choice(VALUES)
        case 2:
            content["settings"][rng.choice((*content["settings"], "x"))] = rng.choice(VALUES)
        case _:
            content["options"]["epochs"] = 0
    data = json.dumps(content).encode()
    path = folder / f"{INPUT}.json"
    path.write_bytes(damaged(rng, data) if rng.random() < 0.3 else data)
    given = ["--epochs", "0", "--init", "none", "--settings", str(path)]
    return Case("settings", ["train", str(base.pairs), "--out", str(folder / "out"), *given])


def _folder(rng: random.Random, folder: Path, choices: tuple[list[str], ...] = PAIR_NAMES) -> Path:
    """A folder of Parquet files, of which some are not."""
    names = rng.choice(choices)
    source = folder / "source"
    source.mkdir()
    for number in range(rng.choice((0, 1, 1, 2, 3))):
        path = source / f"{number}.parquet"
        rows = [[text(rng) for _ in names] for _ in range(rng.choice((0, 1, 5, 20)))]
        write_parquet(rng, path, names, rows)
        if rng.random() < 0.2:
            path.write_bytes(damaged(rng, path.read_bytes()))
    return source
