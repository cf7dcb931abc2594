"""Paper citation: negatives are never cited, pairs are independent, and the split is by citing paper."""

from pairlight.data.pairs import Pairs
from pairlight.datasets.citation import citation
from pairlight.evaluation.evaluate import task_type


def cited(papers: int = 40, each: int = 3) -> Pairs:
    pairs = [(i, (i + 1 + n) % papers) for i in range(papers) for n in range(each)]
    return Pairs.of(
        [f"paper {i}" for i, _ in pairs],
        [f"paper {j}" for _, j in pairs],
        None,
        [f"P{i}" for i, _ in pairs],
        [f"P{j}" for _, j in pairs],
    )


def numbers(pairs: Pairs) -> list[tuple[int, int, float]]:
    assert pairs.label is not None
    return [
        (int(pairs.texts[i].split()[1]), int(pairs.texts[j].split()[1]), float(label))
        for i, j, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


def test_every_citation_has_two_negatives_that_are_not_cited() -> None:
    for part in citation(cited()).values():
        rows = numbers(part)
        assert sum(label for _, _, label in rows) * 3 == len(rows)
        for citing, other, label in rows:
            assert ((other - citing) % 40 in (1, 2, 3)) == (label == 1)
            assert citing != other


def test_the_split_is_by_citing_paper() -> None:
    parts = [{citing for citing, _, _ in numbers(part)} for part in citation(cited()).values()]
    assert [len(part) for part in parts] == [32, 4, 4]
    assert len(set.union(*parts)) == 40


def test_pairs_are_independent_and_their_ids_contain_those_of_the_papers() -> None:
    for part in citation(cited()).values():
        assert task_type(part) == "pairs"
        assert part.lists == len(part)
        assert part.left_id is not None
        assert part.right_id is not None
        for (citing, other, _), left, right in zip(numbers(part), part.left_id, part.right_id, strict=True):
            assert left.split(":")[0] == f"P{citing}"
            assert right == f"P{other}"


def test_with_a_limit_no_citation_is_drawn_as_a_negative() -> None:
    rows = [row for part in citation(cited(), limit=30).values() for row in numbers(part)]
    assert len(rows) == 90
    for citing, other, label in rows:
        assert ((other - citing) % 40 in (1, 2, 3)) == (label == 1)


def test_the_seed_determines_the_dataset() -> None:
    assert numbers(citation(cited(), seed=1)["train"]) == numbers(citation(cited(), seed=1)["train"])
    assert numbers(citation(cited(), seed=1)["train"]) != numbers(citation(cited(), seed=2)["train"])


def test_no_two_papers_have_the_same_id() -> None:
    pairs = Pairs.of([f"paper {i // 2}" for i in range(80)], [f"work {i % 16}" for i in range(80)])
    named = [
        (name.split(":")[0], part.texts[left])
        for part in citation(pairs).values()
        for name, left in zip(part.left_id or [], part.left, strict=True)
    ]
    assert len({name for name, _ in named}) == len(set(named)) == 40
