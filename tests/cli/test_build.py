"""`pairlight build`: files that `train` reads, with a card; the same seed gives the same bytes."""

import hashlib
import json
import os
import threading
from pathlib import Path

import pytest

from cli.helpers import kill_at
from pairlight.core.files import sha256_of
from pairlight.data.readers import read_pairs

CLAUSES = ["the quiet cat in her basket", "bright stars over the dark sea"]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = [f"who has ever spoken of number {i}?\tit was {CLAUSES[i % 2]} of year y{i}" for i in range(40)]
    path = tmp_path / "asked.tsv"
    path.write_text("\n".join(["question\tanswer", *rows]) + "\n", "utf-8")
    return path


@pytest.fixture
def columns() -> list[str]:
    return ["--left", "question", "--right", "answer"]


def speech(count: int) -> str:
    return "\n".join(
        f"When we all met in the great hall number {i}, so it was that {CLAUSES[i % 2]} and year {i} ended."
        for i in range(count)
    )


def test_a_dataset_can_be_trained_on(run, pairs, columns, tmp_path):
    out = tmp_path / "task"
    assert run("build", "qa", pairs, *columns, "--out", out)[0] == 0
    small = ["--set", "hidden=3", "--set", "dim=4", "--vectors", "none", "--epochs", "1"]
    code, said, err = run(
        "train",
        "--model",
        "mv-lstm",
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


def test_the_card_has_the_sizes_and_checksums_of_the_files(run, pairs, columns, tmp_path):
    out = tmp_path / "task"
    code, said, _ = run("build", "qa", pairs, *columns, "--out", out, "--seed", "7", "--json")
    assert code == 0
    card = json.loads((out / "card.json").read_text("utf-8"))
    assert {"format": 1, **json.loads(said), "sha256": card["sha256"]} == card
    assert card["name"] == "qa"
    assert "BM25" in card["protocol"]
    lengths = {"min_words": 5, "max_words": 50}
    assert card["options"] == {"seed": 7, "negatives_per_positive": 4, "top": 1000, "limit": None, **lengths}
    assert card["sources"] == [{"name": "asked.tsv", "sha256": hashlib.sha256(pairs.read_bytes()).hexdigest()}]
    for split, info in card["splits"].items():
        content = (out / f"{split}.tsv").read_bytes()
        assert hashlib.sha256(content).hexdigest() == info["sha256"]
        read = read_pairs(out / f"{split}.tsv")[0]
        assert (len(read), read.lists, len(read.texts)) == (info["pairs"], info["lists"], info["texts"])
        assert info["sha256"] in (out / "README.md").read_text("utf-8")
    assert sorted(file.name for file in out.iterdir()) == ["README.md", "card.json", "dev.tsv", "test.tsv", "train.tsv"]


def test_the_same_seed_gives_the_same_bytes(run, pairs, columns, tmp_path):
    def built(name: str, seed: int) -> list[bytes]:
        assert run("build", "qa", pairs, *columns, "--out", tmp_path / name, "--seed", seed)[0] == 0
        return [file.read_bytes() for file in sorted((tmp_path / name).iterdir())]

    assert built("a", 1) == built("b", 1)
    assert built("a2", 1) != built("c", 2)


def test_dropped_pairs_are_reported_and_the_limits_can_be_set(run, fails, pairs, tmp_path):
    short = "why?\tbecause it was so bright that year\n"
    pairs.write_text(pairs.read_text("utf-8") + short * 3 + pairs.read_text("utf-8").splitlines()[1] + "\n", "utf-8")
    code, _, err = run("build", "qa", pairs, "--out", tmp_path / "a")
    assert code == 0
    assert "the columns used are left=question, right=answer." in err
    assert "40 of 44 pairs are used; 4 dropped: 3 too short (below 5 words), 1 duplicates." in err
    code, _, err = run("build", "qa", pairs, "--out", tmp_path / "b", "--min-words", "1", "--max-words", "60")
    assert code == 0
    assert "41 of 44 pairs are used; 3 dropped: 3 duplicates." in err
    card = json.loads((tmp_path / "b" / "card.json").read_text("utf-8"))
    assert (card["options"]["min_words"], card["options"]["max_words"]) == (1, 60)
    assert "1 to 60 words" in card["protocol"]
    fails(
        ["build", "qa", pairs, "--out", tmp_path / "c", "--max-words", "3"], "leave no length", "(option --min-words)"
    )


def test_pairs_with_a_label_of_0_are_not_positives(run, tmp_path):
    rows = [f"who has ever spoken of number {i}\tit was {CLAUSES[0]} of year y{i}\t{i % 2}" for i in range(40)]
    (tmp_path / "p.tsv").write_text("\n".join(["left\tright\tlabel", *rows]) + "\n", "utf-8")
    code, said, _ = run("build", "qa", tmp_path / "p.tsv", "--out", tmp_path / "task", "--json")
    assert code == 0
    assert sum(split["positives"] for split in json.loads(said)["splits"].values()) == 20


def test_texts_with_tabs_and_line_ends_are_written_as_one_row(run, tmp_path):
    rows = [
        {
            "left": f"who has\tever spoken\nof {i}",
            "right": f"it was\r\n{CLAUSES[i % 2]}\u2028 y{i}",
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


def test_ids_that_differ_only_in_white_space_are_refused(fails, tmp_path):
    rows = [{"left": f"who has ever spoken of {i}", "right": f"it was {CLAUSES[0]} y{i}"} for i in range(20)]
    names = ["a b", "a\tb", *map(str, range(18))]
    lines = [json.dumps(row | {"left_id": name}) + "\n" for row, name in zip(rows, names, strict=True)]
    (tmp_path / "p.jsonl").write_text("".join(lines), "utf-8")
    fails(["build", "qa", tmp_path / "p.jsonl", "--out", tmp_path / "task", "--seed", "0"], "rename it")


def test_completion_reads_text_files_folders_and_tables(run, tmp_path):
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
    assert sum(split["lists"] for split in json.loads(said)["splits"].values()) == 30


def test_citations_without_a_header_line_become_labeled_pairs(run, tmp_path):
    rows = [f"P{i}\tP{(i + n) % 30}\tpaper {i}\tpaper {(i + n) % 30}" for i in range(30) for n in (1, 2)]
    (tmp_path / "c.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    header = ["--header", "left_id,right_id,left,right"]
    code, said, _ = run("build", "citation", tmp_path / "c.tsv", *header, "--out", tmp_path / "task", "--json")
    assert code == 0
    splits = json.loads(said)["splits"].values()
    assert sum(split["pairs"] for split in splits) == 180
    assert all(split["lists"] == split["pairs"] == 3 * split["positives"] for split in splits)


def test_lcs_needs_no_data_and_its_labels_are_fractions(run, tmp_path):
    options = ["--shortest", "2", "--longest", "3", "--limit", "30"]
    assert run("build", "lcs", "--out", tmp_path / "task", *options)[0] == 0
    labels = read_pairs(tmp_path / "task" / "train.tsv")[0].label
    assert labels is not None
    assert {round(float(3 * label), 6) for label in labels} <= {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["qa", "nowhere.tsv", "--out", "t"], "nowhere.tsv"),
        (["qa", "PAIRS", "--out", "t", "--left", "Question"], "no column 'Question'"),
        (["qa", "PAIRS", "--out", "t", "--left", "Question"], "(option --left)"),
        (["qa", "PAIRS", "--out", "."], "not empty: choose another folder, or overwrite it. (option --overwrite)"),
        (["qa", "PAIRS", "--out", ".", "--overwrite"], "something other than a dataset"),
        (["qa", "PAIRS", "--out", "asked.tsv"], "asked.tsv is a file: choose a folder. (option --out)"),
        (["completion", "nowhere.txt", "--out", "t"], "nowhere.txt"),
        (["completion", "binary", "--out", "t"], "NUL"),
        (["completion", "latin", "--out", "t"], "UTF-8"),
        (["completion", "empty", "--out", "t"], "contains no files"),
        (["completion", "short.txt", "--out", "t"], "No sentence"),
        (["completion", "texts", "--out", "texts/t"], "texts/t is in texts, whose files are read"),
        (["completion", "short.txt", "--out", "t", "--left", "a"], "for tables of pairs, and short.txt is not one"),
        (["completion", "short.txt", "--out", "t", "--left", "a"], "(option --left)"),
        (["qa", "chitchat", "--out", "t", "--header", "a,b"], "and chitchat is not one: remove it. (option --header)"),
        (["qa", "PAIRS", "--out", "t", "--folder", "."], "for named datasets"),
        (["qa", "PAIRS", "--out", "t", "--folder", "."], "(option --folder)"),
        (["lcs", "--out", "t", "--shortest", "9"], "(option --shortest)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_nothing_is_written(fails, pairs, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "short.txt").write_text("Too short, this.")
    fails(["build", *({"PAIRS": str(pairs)}.get(each, each) for each in arguments)], words)
    assert not (tmp_path / "t").exists()


def test_the_number_of_negatives_can_be_chosen(run, pairs, columns, tmp_path):
    arguments = ["build", "qa", pairs, *columns, "--out", tmp_path / "task", "--negatives-per-positive", "2", "--json"]
    card = json.loads(run(*arguments)[1])
    assert card["options"]["negatives_per_positive"] == 2
    assert all(split["pairs"] == 3 * split["positives"] for split in card["splits"].values())


@pytest.mark.parametrize("options", [[], ["--overwrite"]], ids=["plain", "overwrite"])
def test_a_build_that_was_killed_continues(run, pairs, columns, tmp_path, options):
    build = ["build", "qa", pairs, *columns, "--out"]
    assert run(*build, tmp_path / "undisturbed")[0] == 0
    kill_at("card.json", *build, tmp_path / "task")
    assert (tmp_path / "task" / "train.tsv").exists()
    code, _, err = run(*build, tmp_path / "task", *options)
    assert code == 0, err
    names = [sorted(path.name for path in (tmp_path / name).iterdir()) for name in ("task", "undisturbed")]
    assert names[0] == names[1]
    for split in ("train", "dev", "test"):
        name = f"{split}.tsv"
        assert (tmp_path / "task" / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()


def test_an_earlier_dataset_is_replaced_only_with_overwrite(run, tmp_path):
    out = tmp_path / "task"
    first = ["build", "lcs", "--out", out, "--limit", "5"]
    assert run(*first)[0] == 0
    before = (out / "train.tsv").read_bytes()
    assert run(*first, "--seed", "1")[0] == 2
    assert (out / "train.tsv").read_bytes() == before
    assert run(*first, "--seed", "1", "--overwrite")[0] == 0
    assert (out / "train.tsv").read_bytes() != before


def test_hidden_folders_are_not_read(run, tmp_path):
    texts = tmp_path / "texts"
    (texts / ".git").mkdir(parents=True)
    (texts / ".git" / "index").write_bytes(b"\xff\xfe")
    line = "In the year {} all of us met in this house, and then number {} of our many speeches was held here.\n\n"
    (texts / "a.txt").write_text("".join(line.format(n, n) for n in range(30)), encoding="utf-8")
    assert run("build", "completion", texts, "--out", tmp_path / "out")[0] == 0
    before = sha256_of(texts)
    (texts / ".git" / "index").write_bytes(b"other")
    assert sha256_of(texts) == before
    (texts / "a.txt").write_text("other")
    assert sha256_of(texts) != before


def test_a_pipe_has_no_checksum(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(speech(30), "utf-8"))
    writer.start()
    code, said, _ = run("build", "completion", tmp_path / "pipe", "--out", tmp_path / "out", "--json")
    writer.join()
    assert code == 0
    assert json.loads(said)["sources"] == [{"name": "pipe", "sha256": None}]
    assert "| pipe | none: a named dataset or a pipe |" in (tmp_path / "out" / "README.md").read_text("utf-8")
