"""`pairlight doctor`: the kernels, threads, versions and extras of an installation."""

import json
import os
import subprocess
import sys

from pairlight.cli import doctor
from pairlight.kernels.native.library import status


def test_it_shows_which_kernels_are_used_and_why(run):
    found = json.loads(run("doctor", "--json")[1])
    assert found["kernels"]["native"] == status().native
    assert found["kernels"]["width"] == status().width
    assert status().reason in run("doctor")[1]


def test_it_shows_when_the_reference_implementations_are_used(run, monkeypatch):
    monkeypatch.setenv("PAIRLIGHT_KERNELS", "reference")
    assert f"reference, without native code ({status().reason})" in run("doctor")[1]
    assert json.loads(run("doctor", "--json")[1])["kernels"]["width"] is None


def test_it_shows_versions_and_threads(run):
    found = json.loads(run("doctor", "--json")[1])
    assert {"pairlight", "torch", "numpy", "tokenizers"} <= set(found["versions"])
    assert "missing" not in found["versions"].values()
    assert found["threads"] >= 1


def test_it_shows_what_an_extra_is_missing_and_how_to_install_it(run, monkeypatch):
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "matplotlib" else real(name))
    assert "missing matplotlib: pip install 'pairlight[plots]'" in run("doctor")[1]
    assert json.loads(run("doctor", "--json")[1])["extras"]["plots"] == ["matplotlib"]


def test_an_unknown_choice_of_kernels_is_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "pairlight", "doctor"],
        capture_output=True,
        text=True,
        env={**os.environ, "PAIRLIGHT_KERNELS": "sse9"},
    )
    assert done.returncode == 2
    assert done.stderr == (
        "pairlight: PAIRLIGHT_KERNELS=sse9 is not known: use one of reference, portable, avx2, avx512, or unset it.\n"
    )
