"""Hostile files and command lines end in one clear line: a sample of the campaign, and what it has found before."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import typer.main

from hard.campaign import run_case
from hard.hostile_files import SMALL, Base
from pairlight import cli

CORPUS = Path(__file__).with_name("corpus")
SAMPLE, MANY = range(20_000, 20_100), range(30_000, 32_000)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return Base(tmp_path_factory.mktemp("base") / "base")


def check(numbers, base):
    command = typer.main.get_command(cli.app_with(cli.COMMANDS))
    faults = [found for found in (run_case(number, base, command) for number in numbers) if found["fault"]]
    assert not faults, json.dumps(faults[:3], indent=1)


@pytest.mark.filterwarnings("default")
def test_a_sample_of_hostile_input_is_one_clear_line(base):
    check(SAMPLE, base)


@pytest.mark.hard
@pytest.mark.filterwarnings("default")
def test_hostile_input_is_one_clear_line(base):
    check(MANY, base)


def commands(path: Path, base: Base, folder: Path) -> list[list[object]]:
    """The commands that read a file of this kind."""
    train = ["train", base.pairs, "--out", folder / "out", "--init", "none", *SMALL, "--epochs", "0"]
    match path.suffix:
        case ".bin" | ".vec":
            return [[*train, "--vectors", path]]
        case ".json":
            return [[*train, "--settings", path]]
        case ".qrels":
            run = folder / "run"
            run.write_text("q1 Q0 d1 1 0.5 tag\n")
            return [["evaluate", "--qrels", path, "--run", run]]
        case _:
            return [["score", base.model, path, "--out", folder / "scores.tsv"], ["rank", base.model, "bama", path]]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_was_found_once_is_one_clear_line(base, path, tmp_path, monkeypatch, capsys):
    given = shutil.copy(path, tmp_path)
    for arguments in commands(Path(given), base, tmp_path):
        monkeypatch.setattr(sys, "argv", ["pairlight", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        lines = capsys.readouterr().err.splitlines()
        assert stopped.value.code == 2
        assert lines[-1].startswith("pairlight: ")
