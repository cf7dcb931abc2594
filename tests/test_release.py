"""The release check serves a model, and fails if hardly any test ran without PyTorch."""

import os
import sys
from pathlib import Path

import pytest

from tools.release import LEAST_PASSED, enough_passed, served_best


def test_the_number_of_passed_tests_is_checked_and_shown():
    line = f"{LEAST_PASSED} passed, 200 skipped in 60.00s (0:01:00)"
    assert enough_passed(f"...... [100%]\n{line}\n") == line
    for printed in (f"{LEAST_PASSED - 1} passed, 900 skipped in 1.00s", "700 skipped in 1.00s", ""):
        with pytest.raises(SystemExit, match=f"fewer than {LEAST_PASSED}: find what skips the others"):
            enough_passed(printed)


def program(folder: Path, arguments: str) -> str:
    """A command that runs pairlight of this environment with these arguments."""
    path = folder / "pairlight"
    modules = os.pathsep.join(filter(None, sys.path))
    path.write_text(
        f'#!/bin/sh\nPAIRLIGHT_RUNTIME=light PYTHONPATH="{modules}" exec "{sys.executable}" -m pairlight {arguments}\n'
    )
    path.chmod(0o755)
    return str(path)


def test_a_server_is_started_asked_and_stopped(tmp_path):
    assert served_best(program(tmp_path, '"$@"'), tmp_path) == 1


def test_a_server_that_does_not_start_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="does not become ready"):
        served_best(program(tmp_path, "--help"), tmp_path)
