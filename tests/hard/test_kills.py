"""A command that is killed at any write or moment gives the same result when it is run again."""

import random
from pathlib import Path

import pytest

from hard.kills import (
    AT_A_MOMENT,
    AT_A_WRITE,
    Kills,
    Scenario,
    Undisturbed,
    command,
    coverage,
    every_write,
    files,
    kill_once,
    places,
    undisturbed,
    use_one_thread,
)

NAMES = (
    "train",
    "train again",
    "calibrate",
    "score",
    "score folder",
    "encode",
    "build",
    "tune",
    "compare",
    "index",
    "index update",
)
SAMPLE = ("train", "build", "score")  # in the default suite
SECONDS = 2  # kills at random moments


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory):
    use_one_thread()
    return {each.name: each for each in Kills(tmp_path_factory.mktemp("kills") / "data").scenarios}


def faults(scenario, folder, chosen):
    expected = undisturbed(scenario, folder)
    found = {where: kill_once(scenario, expected, folder, where) for where in chosen(expected)}
    return {where: fault for where, fault in found.items() if fault is not None}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_killed_commands_continues(scenarios, name, tmp_path):
    def chosen(expected):
        return [*random.Random(1).sample(every_write(expected), 3), 0.6]

    assert faults(scenarios[name], tmp_path, chosen) == {}


@pytest.mark.hard
@pytest.mark.parametrize("name", NAMES)
def test_a_command_killed_at_any_write_or_moment_continues(scenarios, name, tmp_path):
    def chosen(expected):
        writes = every_write(expected)
        rng = random.Random(2)
        return [*rng.sample(writes, min(len(writes), 10)), *(rng.random() for _ in range(SECONDS))]

    assert faults(scenarios[name], tmp_path, chosen) == {}


def test_a_command_that_does_not_survive_a_kill_is_found(tmp_path):
    """The tool itself: a result that is written in place, or depends on how often the command ran, is a difference."""

    def write_in_place(out: Path) -> None:
        with out.open("a") as file:
            file.write("x" * 100)
            file.flush()
            out.with_name("second").mkdir(exist_ok=True)
            file.write("y" * 100)

    scenario = Scenario("in place", write_in_place, files)
    assert "another result" in faults(scenario, tmp_path, every_write).values()
    assert callable(command("score"))


def test_no_place_of_a_write_is_killed_at_twice_and_the_coverage_is_counted():
    expected = Undisturbed(None, 1.0, writes=5)
    first = places("x", expected, 9, {AT_A_WRITE: 0, AT_A_MOMENT: 0})
    more = places("x", expected, 30, {AT_A_WRITE: 6, AT_A_MOMENT: 3})
    writes = [each for each in first + more if isinstance(each, tuple)]
    assert (len(first), len(more)) == (9, 21)
    assert sorted(writes) == sorted(every_write(expected))
    known = {"done": {"x": {AT_A_WRITE: 6, AT_A_MOMENT: 3}}, "writes": {"x": 5}}
    assert coverage("x", known) == "x: killed at 6 of 15 places of its 5 writes, and at 3 random moments"
