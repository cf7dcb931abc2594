"""A dataset folder contains files that read_pairs reads back, and a card with their sizes and checksums."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.core.folders import claim_folder
from pairlight.data.pairs import Pairs
from pairlight.data.readers import read_pairs
from pairlight.datasets.folder import DataSource, is_dataset, read_card, write_dataset


def splits() -> dict[str, Pairs]:
    return {
        "train": Pairs.of(["a", "a", "b"], ["x", "y", "x"], [1, 0, 0.1]),
        "dev": Pairs.of(["c", "c"], ["x", "z"], [1, 0]),
        "test": Pairs.of(["d", "d"], ["w", "猫\t|"], [2, 0]),
    }


def write(out: Path) -> dict[str, Any]:
    return write_dataset(
        out,
        splits(),
        name="toy",
        protocol="Made by hand.",
        options={"seed": 7, "limit": None},
        sources=[DataSource("a|b.tsv", "abc"), DataSource("wikiqa")],
    ).as_dict()


def test_files_are_read_back_with_ids_that_are_unique_across_splits(tmp_path: Path) -> None:
    write(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "README.md",
        "card.json",
        "dev.tsv",
        "test.tsv",
        "train.tsv",
    ]
    read = {name: read_pairs(tmp_path / f"{name}.tsv")[0] for name in splits()}
    for name, pairs in splits().items():
        np.testing.assert_array_equal(read[name].labels, pairs.labels)
        np.testing.assert_array_equal(read[name].group, pairs.group)
    assert read["train"].left_id == ["q0", "q0", "q1"]
    assert read["dev"].left_id == ["q2", "q2"]
    assert read["train"].right_id == ["t0", "t1", "t0"]
    assert read["dev"].right_id == ["t0", "t2"]
    assert read["test"].texts[-1] == "猫 |"


def test_the_card_describes_the_files(tmp_path: Path) -> None:
    card = write(tmp_path)
    stored = json.loads((tmp_path / "card.json").read_text("utf-8"))
    assert {name: value for name, value in stored.items() if name not in ("format", "sha256")} == card
    assert card["sources"] == [{"name": "a|b.tsv", "sha256": "abc"}, {"name": "wikiqa", "sha256": None}]
    found = read_card(tmp_path)
    assert found is not None
    assert found.as_dict() == card
    assert (found.name, found.protocol, found.options) == ("toy", "Made by hand.", {"seed": 7, "limit": None})
    train = found.splits["train"]
    assert (train.file, train.pairs, train.lists, train.positives, train.texts) == ("train.tsv", 3, 2, 2, 4)
    for info in found.splits.values():
        assert hashlib.sha256((tmp_path / info.file).read_bytes()).hexdigest() == info.sha256


def test_the_readme_shows_the_protocol_the_files_and_how_to_train(tmp_path: Path) -> None:
    write(tmp_path)
    readme = (tmp_path / "README.md").read_text("utf-8")
    assert readme.startswith("# toy\n\nMade by hand.\n\n| split | pairs | lists | positives | texts | sha256 |\n")
    assert "| limit | None |" in readme
    assert "| a\\|b.tsv | abc |" in readme
    assert "| wikiqa | none: a named dataset or a pipe |" in readme
    assert readme.endswith("```\npairlight train train.tsv --dev dev.tsv --test test.tsv --out MODEL\n```\n")


def test_the_same_data_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name)
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two


def test_given_ids_are_kept_without_tabs_and_line_ends(tmp_path: Path) -> None:
    pairs = Pairs.of(["a", "b"], ["x\r\ny", "z"], [1, 0], ["q\t1", "q2"], ["r 1", "r2"])
    write_dataset(tmp_path, {"train": pairs}, name="toy", protocol="")
    read = read_pairs(tmp_path / "train.tsv")[0]
    assert (read.left_id, read.right_id) == (["q 1", "q2"], ["r 1", "r2"])
    assert "x y" in read.texts


@pytest.mark.parametrize("ids", [["a b", "a\tb"], ["a", "\t"]])
def test_ids_that_would_become_equal_or_empty_are_refused_and_no_card_is_written(
    tmp_path: Path, ids: list[str]
) -> None:
    pairs = Pairs.of(["a", "b"], ["x", "y"], [1, 0], ids)
    with pytest.raises(InputError, match="rename it"):
        write_dataset(tmp_path, {"train": pairs}, name="toy", protocol="")
    assert not is_dataset(tmp_path)


def test_a_dataset_can_be_overwritten_and_is_incomplete_until_its_card_is_written(tmp_path: Path) -> None:
    write(tmp_path)
    claim_folder(tmp_path, overwrite=True, is_ours=is_dataset, what="a dataset")
    unlabeled = {"train": Pairs.of(["a"], ["x"])}
    with pytest.raises(InputError, match="have no labels"):
        write_dataset(tmp_path, unlabeled, name="toy", protocol="")
    assert not is_dataset(tmp_path)


def test_a_folder_without_a_card_has_none_and_a_damaged_card_is_refused(tmp_path: Path) -> None:
    assert read_card(tmp_path) is None
    for content in ("", "[]", "{}", '{"name": "a", "protocol": "", "options": {}, "sources": [], "splits": {"x": 1}}'):
        (tmp_path / "card.json").write_text(content)
        with pytest.raises(InputError, match=r"card\.json .*: make the dataset again"):
            read_card(tmp_path)
