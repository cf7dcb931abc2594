"""Describes the machine and the installation: CPU, versions, cold start and size on disk."""

import datetime
import importlib.metadata
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pairlight
from benchmarks.workloads import fixed_length_pairs
from pairlight.kernels.native.library import status
from pairlight.matcher import Matcher

_SHOWN = ("torch", "numpy", "tokenizers", "transformers", "onnxruntime")
_FIRST_SCORE = """
import sys, time
started = time.process_time()
from pairlight import Matcher
Matcher.load(sys.argv[1]).predict([("one text", "another text")])
print(time.process_time() - started)
"""


def machine() -> dict[str, Any]:
    """The CPU, the kernels in use, and versions."""
    kernels = status()
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "kernels": f"{kernels.width if kernels.native else 'PyTorch'}: {kernels.reason}",
        "versions": {
            "pairlight": importlib.metadata.version("pairlight"),
            "python": platform.python_version(),
            **{name: version for name in _SHOWN if (version := _version(name))},
        },
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def cold_start(rounds: int, say: Callable[[str], None]) -> dict[str, float]:
    """Wall time and CPU time from starting Python to the first score of a saved MV-LSTM, in seconds."""
    say("Cold start")
    matcher = Matcher("mv-lstm").fit(fixed_length_pairs(10, 10, 20), vectors="none", epochs=1, progress=False)
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as folder:
        matcher.save(folder)
        for _ in range(rounds):
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", _FIRST_SCORE, folder], capture_output=True, text=True, check=True
            )
            wall.append(time.perf_counter() - started)
            cpu.append(float(done.stdout))
    return {"wall": statistics.median(wall), "cpu": statistics.median(cpu)}


def installed_megabytes() -> dict[str, float]:
    """The size of pairlight, and of all packages that it requires."""
    own = sum(
        f.stat().st_size for f in Path(pairlight.__file__).parent.rglob("*") if f.suffix != ".pyc" and f.is_file()
    )
    required = _requirements("pairlight", set())
    return {
        "own": own / 1e6,
        "required": sum(map(_bytes_of, required - {"pairlight"})) / 1e6,
        "torch": _bytes_of("torch") / 1e6,
    }


def _requirements(name: str, seen: set[str]) -> set[str]:
    """A package and all that it requires, without extras."""
    if name in seen or _version(name) is None:
        return seen
    seen.add(name)
    for line in importlib.metadata.requires(name) or []:
        required, _, condition = line.partition(";")
        if "extra" not in condition:
            _requirements(re.split(r"[^\w.-]", required.strip())[0], seen)
    return seen


def _bytes_of(name: str) -> int:
    files = importlib.metadata.files(name) or []
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file())


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()
