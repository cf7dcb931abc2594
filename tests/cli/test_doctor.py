"""`pairlight doctor` says what runs and why."""

import json
import os
import subprocess
import sys

from typer.testing import CliRunner

from pairlight.cli import app, doctor
from pairlight.kernels import status


def told(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["doctor", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_says_which_kernels_run_and_why():
    found = json.loads(told("--json"))
    assert found["kernels"]["native"] == status().native
    assert found["kernels"]["width"] == status().width
    assert status().reason in told()


def test_it_says_when_the_twins_were_asked_for(monkeypatch):
    monkeypatch.setenv("PAIRLIGHT_KERNELS", "torch")
    assert "PyTorch, without native code (PAIRLIGHT_KERNELS=torch asks for the PyTorch twins)" in told()
    assert json.loads(told("--json"))["kernels"]["width"] is None


def test_it_tells_versions_and_threads():
    found = json.loads(told("--json"))
    assert {"pairlight", "torch", "numpy", "tokenizers"} <= set(found["versions"])
    assert "missing" not in found["versions"].values()
    assert found["threads"] >= 1


def test_it_names_what_an_extra_lacks_and_the_remedy(monkeypatch):
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "matplotlib" else real(name))
    assert "lacks matplotlib: pip install 'pairlight[plots]'" in told()
    assert json.loads(told("--json"))["extras"]["plots"] == ["matplotlib"]


def test_an_unknown_choice_of_kernels_is_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "pairlight", "doctor"],
        capture_output=True,
        text=True,
        env={**os.environ, "PAIRLIGHT_KERNELS": "sse9"},
    )
    assert done.returncode == 2
    assert done.stderr == (
        "pairlight: PAIRLIGHT_KERNELS=sse9 is not known: give one of torch, portable, avx2, avx512, or unset it.\n"
    )
