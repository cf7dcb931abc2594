"""Runs the command line in this process, on a small file of pairs and with a small trained model."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.helpers import write_pairs
from pairlight import Matcher, cli
from toy_pairs import overlap

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch, capsys) -> Run:
    """Run `pairlight ...` and return the exit code, standard output and standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pairlight", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return command


@pytest.fixture
def fails(run: Run) -> Callable[..., None]:
    """Check that `pairlight ...` ends with exit code 2 and one line that has these words, and prints no traceback."""

    def command(arguments: list[object], *words: str) -> None:
        code, _, err = run(*arguments)
        lines = [line for line in err.splitlines() if line.strip()]
        assert code == 2, err
        assert lines[-1].startswith("pairlight: "), err
        assert "Traceback" not in err
        for each in words:
            assert each in lines[-1]

    return command


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> str:
    """A file with ranking lists."""
    return str(write_pairs(tmp_path_factory.mktemp("data") / "pairs.tsv", overlap(20, seed=0)))


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> Path:
    """The folder of a trained mv-lstm."""
    folder = tmp_path_factory.mktemp("models") / "model"
    matcher = Matcher("mv-lstm", hidden=4, k=3, dim=6)
    matcher.fit(overlap(20, seed=0), vectors="none", epochs=1, progress=False).save(folder)
    return folder
