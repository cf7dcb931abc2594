"""`make` sets up anew what has changed; `make test` installs a browser and fonts where it may, and can go without."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None, reason="no make on PATH")


def made(folder: Path, **commands: str) -> str:
    """What the set-up prints where these commands and no others but the plainest are found."""
    tools = folder / "bin"
    tools.mkdir()
    for name in ("sh", "timeout", "touch", "true"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for name, body in commands.items():
        script = tools / name.replace("_", "-")
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
    venv = ready(folder)
    command = [str(MAKE), "-C", str(ROOT), f"VENV={venv}", str(venv / ".looked")]
    done = subprocess.run(command, env={"PATH": str(tools)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (venv / ".looked").exists()
    return done.stdout


def ready(folder: Path) -> Path:
    venv = folder / "venv"
    venv.mkdir()
    (venv / ".ready").touch()
    os.utime(venv / ".ready", (2**31, 2**31))  # newer than what it is made of
    return venv


@pytest.mark.parametrize(
    ("changed", "anew"),
    [("pyproject.toml", 1), ("setup.py", 1), ("src/pairlight/kernels/csrc/kmax.hpp", 1), ("README.md", 0)],
)
def test_what_is_compiled_or_installed_is_set_up_anew_when_it_changes(tmp_path, changed, anew):
    venv = ready(tmp_path)
    command = [str(MAKE), "-C", str(ROOT), f"VENV={venv}", "--question", f"--what-if={changed}", str(venv / ".ready")]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == anew


def test_what_is_missing_is_installed_where_we_are_root(tmp_path):
    log = tmp_path / "log"
    out = made(tmp_path, apt_get=f'echo "$@" >> {log}', id="echo 0", dpkg='[ "$2" = fonts-noto-cjk ]')
    assert "Installing chromium fonts-noto-color-emoji" in out
    wanted = "-qq -y install --no-install-recommends chromium fonts-noto-color-emoji"
    assert log.read_text().splitlines() == ["-qq update", wanted]


def test_an_installation_that_fails_does_not_fail_the_tests(tmp_path):
    assert "That did not work" in made(tmp_path, apt_get="exit 1", id="echo 0", dpkg="exit 1")


@pytest.mark.parametrize(
    "commands",
    [
        {"id": "echo 0", "dpkg": "exit 1"},  # no apt
        {"id": "echo 1000", "dpkg": "exit 1", "apt_get": "exit 9", "sudo": "exit 1"},  # no rights
        {"id": "echo 0", "dpkg": "exit 0", "apt_get": "exit 9", "chromium": ""},  # nothing missing
    ],
)
def test_nothing_is_tried_where_it_may_not_or_need_not_be(tmp_path, commands):
    out = made(tmp_path, **commands)
    assert "Installing" not in out
    assert "did not work" not in out
