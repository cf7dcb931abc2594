"""`make` rebuilds what has changed; `make test` installs a browser and fonts if it can, and works without them."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MAKE = shutil.which("make")
REQUIREMENTS = (ROOT / "requirements.txt").read_text("utf-8")
pytestmark = pytest.mark.skipif(MAKE is None, reason="no make on PATH")


def make_browser(folder: Path, **commands: str) -> str:
    """The output of the installation when only these commands and a few basic ones are on PATH."""
    tools = folder / "bin"
    tools.mkdir()
    for name in ("sh", "timeout", "touch", "true"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for name, body in commands.items():
        script = tools / name.replace("_", "-")
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
    venv = ready_venv(folder)
    command = [str(MAKE), "-C", str(ROOT), f"VENV={venv}", str(venv / ".looked")]
    done = subprocess.run(command, env={"PATH": str(tools)}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (venv / ".looked").exists()
    return done.stdout


def ready_venv(folder: Path) -> Path:
    venv = folder / "venv"
    venv.mkdir()
    (venv / ".ready").touch()
    os.utime(venv / ".ready", (2**31, 2**31))  # newer than everything it depends on
    return venv


@pytest.mark.parametrize(
    ("changed", "code"),
    [("pyproject.toml", 1), ("setup.py", 1), ("src/pairlight/kernels/native/csrc/kmax.hpp", 1), ("README.md", 0)],
)
def test_the_environment_is_set_up_again_when_a_dependency_or_a_kernel_changes(tmp_path, changed, code):
    venv = ready_venv(tmp_path)
    command = [str(MAKE), "-C", str(ROOT), f"VENV={venv}", "--question", f"--what-if={changed}", str(venv / ".ready")]
    assert (ROOT / changed).exists()
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == code


def test_missing_packages_are_installed_as_root(tmp_path):
    log = tmp_path / "log"
    out = make_browser(tmp_path, apt_get=f'echo "$@" >> {log}', id="echo 0", dpkg='[ "$2" = fonts-noto-cjk ]')
    assert "Installing chromium fonts-noto-color-emoji" in out
    wanted = "-qq -y install --no-install-recommends chromium fonts-noto-color-emoji"
    assert log.read_text().splitlines() == ["-qq update", wanted]


def test_a_failed_installation_does_not_fail_the_tests(tmp_path):
    assert "That did not work" in make_browser(tmp_path, apt_get="exit 1", id="echo 0", dpkg="exit 1")


@pytest.mark.parametrize(
    "commands",
    [
        {"id": "echo 0", "dpkg": "exit 1"},  # no apt
        {"id": "echo 1000", "dpkg": "exit 1", "apt_get": "exit 9", "sudo": "exit 1"},  # no permission
        {"id": "echo 0", "dpkg": "exit 0", "apt_get": "exit 9", "chromium": ""},  # nothing missing
    ],
)
def test_nothing_is_installed_without_apt_or_permission_or_need(tmp_path, commands):
    out = make_browser(tmp_path, **commands)
    assert "Installing" not in out
    assert "did not work" not in out


def test_every_dependency_has_hashes_and_the_version_of_the_constraints():
    pinned = {
        line.partition("==")[0].lower().replace("_", "-"): line.partition("==")[2]
        for line in (ROOT / "constraints.txt").read_text("utf-8").split()
    }
    required = re.findall(
        r"^(\S+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", REQUIREMENTS, re.MULTILINE
    )
    assert len(required) == REQUIREMENTS.count("==")
    assert {name: version for name, version, _ in required}.items() <= pinned.items()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = list(extras["dependencies"])
    for name in ("dev", "train", "parquet", "glove", "corpora", "plots", "tune", "search", "serve"):
        wanted += extras["optional-dependencies"][name]
    names = {re.split(r"[\[><=]", each)[0].lower() for each in wanted} - {"pairlight", "torch"}
    assert names <= {name for name, *_ in required}, "run `make requirements`"
