"""Files of pairs for the tests of the command line, and commands that are killed."""

import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from pairlight.data.pairs import Pairs

SMALL = [
    "--model",
    "mv-lstm",
    "--set",
    "hidden=4",
    "--set",
    "k=3",
    "--set",
    "dim=6",
    "--vectors",
    "none",
    "--epochs",
    "1",
]


def write_pairs(path: Path, pairs: Pairs) -> Path:
    """Write pairs as a TSV file."""
    rows = zip(pairs.left, pairs.right, pairs.labels, strict=True)
    lines = [f"{pairs.texts[i]}\t{pairs.texts[j]}\t{label:g}" for i, j, label in rows]
    path.write_text("\n".join(["left\tright\tlabel", *lines]) + "\n", encoding="utf-8")
    return path


def write_labels(path: Path, labels: Iterable[float]) -> Path:
    """Write independent pairs with these labels as a TSV file."""
    rows = [f"w{n} bama\tdelo {n % 5} bama\t{label}" for n, label in enumerate(labels)]
    path.write_text("\n".join(["left\tright\tlabel", *rows]) + "\n", encoding="utf-8")
    return path


_KILLED = """
import os, signal, sys
from pathlib import Path
name, real = sys.argv.pop(1), os.replace
def replace(source, target):
    if Path(target).name == name:
        os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
os.replace = replace
from pairlight import cli
cli.main()
"""


def kill_at(name: str, *arguments: object) -> None:
    """Run `pairlight ...` and kill it when it has written the file of this name, before the file gets its name."""
    done = subprocess.run([sys.executable, "-c", _KILLED, name, *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
