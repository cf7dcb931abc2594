"""Longest common subsequences: the table against a slow reading of the definition, and the data made of it."""

from itertools import combinations

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.datasets.lcs import LETTERS, SIZES, lcs, table


def slow(left: str, right: str) -> int:
    """The longest of all subsequences of one that the other has too."""

    def all_of(text: str) -> set[tuple[str, ...]]:
        return {each for size in range(len(text) + 1) for each in combinations(text, size)}

    return max(map(len, all_of(left) & all_of(right)))


def test_the_papers_example_has_the_papers_table() -> None:
    assert table("ABCDE", "FACGD").tolist() == [
        [0, 0, 0, 0, 0, 0],
        [0, 0, 1, 1, 1, 1],
        [0, 0, 1, 1, 1, 1],
        [0, 0, 1, 2, 2, 2],
        [0, 0, 1, 2, 2, 3],
        [0, 0, 1, 2, 2, 3],
    ]


def test_the_table_counts_as_the_definition_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        left, right = ("".join(rng.choice(list("ABC"), rng.integers(1, 8))) for _ in range(2))
        assert table(left, right)[-1, -1] == slow(left, right)


def test_labels_are_lengths_over_the_greatest_length() -> None:
    parts = lcs(shortest=2, longest=4, limit=50)
    lengths = set()
    for part in parts.values():
        assert len(part) == part.lists == 50
        assert part.label is not None
        for i, j, label in zip(part.left, part.right, part.label, strict=True):
            left, right = part.texts[i].split(), part.texts[j].split()
            lengths |= {len(left), len(right)}
            assert set(left + right) <= set(LETTERS)
            assert label == pytest.approx(table(left, right)[-1, -1] / 4)
    assert lengths == {2, 3, 4}


def test_the_papers_sizes_are_the_default() -> None:
    assert {name: len(part) for name, part in lcs().items()} == SIZES == {"train": 10_000, "dev": 1000, "test": 1000}


def test_the_seed_decides() -> None:
    assert lcs(limit=20, seed=1)["test"].texts == lcs(limit=20, seed=1)["test"].texts
    assert lcs(limit=20, seed=1)["test"].texts != lcs(limit=20, seed=2)["test"].texts


def test_lengths_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="Sequences of 6 to 5 letters are none"):
        lcs(shortest=6)
