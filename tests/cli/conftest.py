"""The command line in this process: quick, and with what it prints."""

import sys

import pytest

from pairlight import cli


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `pairlight ...` in this process; give the exit code, standard output and standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pairlight", *map(str, arguments)])
        try:
            cli.main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return command
