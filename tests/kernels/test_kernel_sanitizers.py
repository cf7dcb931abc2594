"""The kernels under the address and undefined behaviour sanitizers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pairlight.kernels.native import build

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")


def runtime(name: str) -> str:
    output = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return output.stdout.strip()


def check_clean(tmp_path: Path, *arguments: str) -> None:
    """Run the driver with kernels that are compiled with the sanitizers."""
    if not Path(runtime("libasan.so")).is_absolute():
        pytest.skip("g++ has no address sanitizer here")
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
    build.compile_library(tmp_path / "sanitized.so", flags)
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # Python itself does not free all memory
    }
    driver = Path(__file__).with_name("sanitized.py")
    command = [sys.executable, str(driver), str(tmp_path / "sanitized.so"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "clean on" in done.stdout


@pytest.mark.slow
def test_no_kernel_accesses_memory_out_of_bounds(tmp_path: Path) -> None:
    check_clean(tmp_path)


@pytest.mark.hard
def test_no_kernel_accesses_memory_out_of_bounds_at_drawn_sizes(tmp_path: Path) -> None:
    check_clean(tmp_path, "6")
