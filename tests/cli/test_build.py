"""`pairlight build`: files that `train` takes as they are, with a card; same seed, same bytes."""

import hashlib
import json
import os
import threading
from pathlib import Path

import pytest

from pairlight.data.readers import read_pairs
from pairlight.datasets.folder import checksum

MATTERS = ["the quiet cat in her basket", "bright stars over the dark sea"]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = [f"who has ever spoken of number {i}?\tit was {MATTERS[i % 2]} of year y{i}" for i in range(40)]
    path = tmp_path / "asked.tsv"
    path.write_text("\n".join(["question\tanswer", *rows]) + "\n", "utf-8")
    return path


@pytest.fixture
def columns() -> list[str]:
    return ["--left", "question", "--right", "answer"]


def speech(count: int) -> str:
    return "\n".join(
        f"When we all met in the great hall number {i}, so it was that {MATTERS[i % 2]} and year {i} ended."
        for i in range(count)
    )


def test_a_built_task_trains_as_it_is(run, pairs, columns, tmp_path):
    out = tmp_path / "task"
    assert run("build", "qa", pairs, *columns, "--out", out)[0] == 0
    small = ["--set", "hidden=3", "--set", "dim=4", "--vectors", "none", "--epochs", "1"]
    code, said, err = run(
        "train",
        out / "train.tsv",
        "--dev",
        out / "dev.tsv",
        "--test",
        out / "test.tsv",
        "--out",
        tmp_path / "m",
        *small,
    )
    assert code == 0, err
    assert "test  P@1" in said


def test_the_card_counts_and_checks_what_was_written(run, pairs, columns, tmp_path):
    out = tmp_path / "task"
    code, said, _ = run("build", "qa", pairs, *columns, "--out", out, "--seed", "7", "--json")
    assert code == 0
    card = json.loads((out / "card.json").read_text("utf-8"))
    assert json.loads(said) == card
    assert card["task"] == "qa"
    assert "BM25" in card["protocol"]
    assert card["choices"] == {"seed": 7, "negatives_per_positive": 4, "top": 1000, "limit": None}
    assert card["sources"] == [{"name": "asked.tsv", "sha256": hashlib.sha256(pairs.read_bytes()).hexdigest()}]
    for part, facts in card["parts"].items():
        content = (out / f"{part}.tsv").read_bytes()
        assert hashlib.sha256(content).hexdigest() == facts["sha256"]
        read = read_pairs(out / f"{part}.tsv")[0]
        assert (len(read), read.lists, len(read.texts)) == (facts["pairs"], facts["lists"], facts["texts"])
        assert facts["sha256"] in (out / "README.md").read_text("utf-8")
    assert sorted(file.name for file in out.iterdir()) == ["README.md", "card.json", "dev.tsv", "test.tsv", "train.tsv"]


def test_the_same_seed_gives_the_same_bytes(run, pairs, columns, tmp_path):
    def built(name: str, seed: int) -> list[bytes]:
        assert run("build", "qa", pairs, *columns, "--out", tmp_path / name, "--seed", seed)[0] == 0
        return [file.read_bytes() for file in sorted((tmp_path / name).iterdir())]

    assert built("a", 1) == built("b", 1)
    assert built("a2", 1) != built("c", 2)


def test_labels_in_the_file_are_heeded(run, tmp_path):
    rows = [f"who has ever spoken of number {i}\tit was {MATTERS[0]} of year y{i}\t{i % 2}" for i in range(40)]
    (tmp_path / "p.tsv").write_text("\n".join(["left\tright\tlabel", *rows]) + "\n", "utf-8")
    code, said, _ = run("build", "qa", tmp_path / "p.tsv", "--out", tmp_path / "task", "--json")
    assert code == 0
    assert sum(part["matches"] for part in json.loads(said)["parts"].values()) == 20


def test_texts_with_tabs_and_line_ends_stay_one_row(run, tmp_path):
    rows = [
        {
            "left": f"who has\tever spoken\nof {i}",
            "right": f"it was\r\n{MATTERS[i % 2]}\u2028 y{i}",
            "left_id": f"a\tb{i}",
        }
        for i in range(20)
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert run("build", "qa", tmp_path / "p.jsonl", "--out", tmp_path / "task")[0] == 0
    read = read_pairs(tmp_path / "task" / "train.tsv")[0]
    assert len(read) == 80
    assert all("  " not in text and text.isprintable() for text in read.texts)
    assert all(name.startswith("a b") for name in read.left_id or [])


def test_ids_that_cleaning_would_merge_are_refused(run, tmp_path):
    rows = [{"left": f"who has ever spoken of {i}", "right": f"it was {MATTERS[0]} y{i}"} for i in range(20)]
    names = ["a b", "a\tb", *map(str, range(18))]
    lines = [json.dumps(row | {"left_id": name}) + "\n" for row, name in zip(rows, names, strict=True)]
    (tmp_path / "p.jsonl").write_text("".join(lines), "utf-8")
    code, _, err = run("build", "qa", tmp_path / "p.jsonl", "--out", tmp_path / "task", "--seed", "0")
    assert code == 2
    assert "rename it" in err


def test_completion_takes_files_folders_and_tables_of_text(run, tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "one.txt").write_text(speech(30), "utf-8")
    lists = {}
    for name, source in {"file": texts / "one.txt", "folder": texts}.items():
        assert run("build", "completion", source, "--out", tmp_path / name)[0] == 0
        lists[name] = (tmp_path / name / "train.tsv").read_bytes()
    assert lists["file"] == lists["folder"]
    half = speech(30).splitlines()
    (tmp_path / "t.tsv").write_text(
        "left\tright\n" + "".join(f"{a}\t{b}\n" for a, b in zip(half[:15], half[15:], strict=True)), "utf-8"
    )
    code, said, _ = run("build", "completion", tmp_path / "t.tsv", "--out", tmp_path / "table", "--json")
    assert code == 0
    assert sum(part["lists"] for part in json.loads(said)["parts"].values()) == 30


def test_citations_without_a_header_are_named_and_become_labelled_pairs(run, tmp_path):
    rows = [f"P{i}\tP{(i + n) % 30}\tpaper {i}\tpaper {(i + n) % 30}" for i in range(30) for n in (1, 2)]
    (tmp_path / "c.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    header = ["--header", "left_id,right_id,left,right"]
    code, said, _ = run("build", "citation", tmp_path / "c.tsv", *header, "--out", tmp_path / "task", "--json")
    assert code == 0
    parts = json.loads(said)["parts"]
    assert sum(part["pairs"] for part in parts.values()) == 180
    assert all(part["lists"] == part["pairs"] == 3 * part["matches"] for part in parts.values())


def test_lcs_needs_no_data_and_writes_labels_that_read_back(run, tmp_path):
    choices = ["--shortest", "2", "--longest", "3", "--limit", "30"]
    assert run("build", "lcs", "--out", tmp_path / "task", *choices)[0] == 0
    labels = read_pairs(tmp_path / "task" / "train.tsv")[0].label
    assert labels is not None
    assert {round(float(3 * label), 6) for label in labels} <= {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["qa", "nowhere.tsv", "--out", "t"], "nowhere.tsv"),
        (["qa", "PAIRS", "--out", "t", "--left", "Question"], "Question"),
        (["qa", "PAIRS", "--out", "."], "not empty"),
        (["qa", "PAIRS", "--out", ".", "--overwrite"], "no built task"),
        (["qa", "PAIRS", "--out", "asked.tsv"], "is a file"),
        (["completion", "nowhere.txt", "--out", "t"], "nowhere.txt"),
        (["completion", "binary", "--out", "t"], "NUL"),
        (["completion", "latin", "--out", "t"], "UTF-8"),
        (["completion", "empty", "--out", "t"], "holds no file"),
        (["completion", "short.txt", "--out", "t"], "No sentence"),
        (["completion", "texts", "--out", "texts/t"], "texts/t lies in texts"),
        (["completion", "short.txt", "--out", "t", "--left", "a"], "--left is for tables of pairs, and short.txt is"),
        (["qa", "chitchat", "--out", "t", "--header", "a,b"], "--header is for tables of pairs, and chitchat is none"),
        (["qa", "PAIRS", "--out", "t", "--folder", "."], "--folder is for named sets"),
        (["lcs", "--out", "t", "--shortest", "9"], "9 to 5"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_built_is_one_clear_line_and_nothing_is_written(
    run, pairs, tmp_path, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "short.txt").write_text("Too short, this.")
    code, _, err = run("build", *({"PAIRS": str(pairs)}.get(each, each) for each in arguments))
    assert code == 2
    assert said in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not (tmp_path / "t").exists()


def test_an_older_task_is_replaced_only_where_asked_for(run, tmp_path):
    out = tmp_path / "task"
    first = ["build", "lcs", "--out", out, "--limit", "5"]
    assert run(*first)[0] == 0
    before = (out / "train.tsv").read_bytes()
    assert run(*first, "--seed", "1")[0] == 2
    assert (out / "train.tsv").read_bytes() == before
    assert run(*first, "--seed", "1", "--overwrite")[0] == 0
    assert (out / "train.tsv").read_bytes() != before


def test_hidden_folders_hold_no_text(run, tmp_path):
    texts = tmp_path / "texts"
    (texts / ".git").mkdir(parents=True)
    (texts / ".git" / "index").write_bytes(b"\xff\xfe")
    line = "In the year {} all of us met in this house, and then number {} of our many speeches was held here.\n\n"
    (texts / "a.txt").write_text("".join(line.format(n, n) for n in range(30)), encoding="utf-8")
    assert run("build", "completion", texts, "--out", tmp_path / "out")[0] == 0
    before = checksum(texts)
    (texts / ".git" / "index").write_bytes(b"other")
    assert checksum(texts) == before
    (texts / "a.txt").write_text("other")
    assert checksum(texts) != before


def test_what_can_be_read_only_once_has_no_checksum(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(speech(30), "utf-8"))
    writer.start()
    code, said, _ = run("build", "completion", tmp_path / "pipe", "--out", tmp_path / "out", "--json")
    writer.join()
    assert code == 0
    assert json.loads(said)["sources"] == [{"name": "pipe", "sha256": None}]
    assert "| pipe | a named set, or no file |" in (tmp_path / "out" / "README.md").read_text("utf-8")
