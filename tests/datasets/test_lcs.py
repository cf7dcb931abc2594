"""Longest common subsequences: the table equals the definition, and the dataset is made with it."""

from itertools import combinations

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.datasets.lcs import LETTERS, SIZES, lcs, lcs_table


def by_definition(left: str, right: str) -> int:
    """The length of the longest subsequence that both have, found by listing all subsequences."""

    def subsequences(text: str) -> set[tuple[str, ...]]:
        return {each for size in range(len(text) + 1) for each in combinations(text, size)}

    return max(map(len, subsequences(left) & subsequences(right)))


def test_the_example_of_the_paper_has_the_table_of_the_paper() -> None:
    assert lcs_table("ABCDE", "FACGD").tolist() == [
        [0, 0, 0, 0, 0, 0],
        [0, 0, 1, 1, 1, 1],
        [0, 0, 1, 1, 1, 1],
        [0, 0, 1, 2, 2, 2],
        [0, 0, 1, 2, 2, 3],
        [0, 0, 1, 2, 2, 3],
    ]


def test_the_table_agrees_with_the_definition() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        left, right = ("".join(rng.choice(list("ABC"), rng.integers(1, 8))) for _ in range(2))
        assert lcs_table(left, right)[-1, -1] == by_definition(left, right)


def test_labels_are_lengths_divided_by_the_maximum_length() -> None:
    parts = lcs(shortest=2, longest=4, limit=50)
    lengths = set()
    for part in parts.values():
        assert len(part) == part.lists == 50
        assert part.label is not None
        for i, j, label in zip(part.left, part.right, part.label, strict=True):
            left, right = part.texts[i].split(), part.texts[j].split()
            lengths |= {len(left), len(right)}
            assert set(left + right) <= set(LETTERS)
            assert label == pytest.approx(lcs_table(left, right)[-1, -1] / 4)
    assert lengths == {2, 3, 4}


def test_the_default_sizes_are_those_of_the_paper() -> None:
    assert {name: len(part) for name, part in lcs().items()} == SIZES == {"train": 10_000, "dev": 1000, "test": 1000}


def test_the_seed_determines_the_dataset() -> None:
    assert lcs(limit=20, seed=1)["test"].texts == lcs(limit=20, seed=1)["test"].texts
    assert lcs(limit=20, seed=1)["test"].texts != lcs(limit=20, seed=2)["test"].texts


def test_a_minimum_above_the_maximum_length_is_refused() -> None:
    with pytest.raises(InputError, match="shortest=6 and longest=5 are not valid lengths"):
        lcs(shortest=6)
