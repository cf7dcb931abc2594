"""Measures what runs without PyTorch next to PyTorch: speed of every model, cold start, memory and size on disk.

As a program, it prints the speeds of the models that it is given, in this process with one thread.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.clock import interleaved, seconds
from benchmarks.machine import installed_megabytes

LEFT, RIGHT, TEXTS = 30, 40, 100  # words of the query and of a text, and texts of a request
_SECONDS = 0.2  # of CPU time that a side is measured for in a round, at least
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PAIRLIGHT_THREADS": "1"}
_REQUESTS = """
import random, sys
sys.modules["torch"] = None
from pairlight import Matcher
words = [a + b for a in ("parcel", "return", "card", "page", "where", "free") for b in ("", "s", "ing", "er")]
random.seed(0)
def text(most):
    return " ".join(random.choices(words, k=random.randint(1, most))) + f" {random.randrange(10**6)}"
matchers = [Matcher.load("qa-small"), Matcher("mv-lstm")]
for request in range(int(sys.argv[1])):
    matcher = matchers[request % 10 == 9]
    if request % 100 == 0:
        matcher.explain(text(10), text(20))
    elif request % 10 == 5:
        matcher.encode([text(40) for _ in range(5)])
    else:
        matcher.rank(text(10), [text(40) for _ in range(random.choice([1, 5, 20]))])
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024)
"""


def light(names: list[str], rounds: int, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Speeds of all models, cold start, memory after many requests, and the size on disk."""
    say("Every model without PyTorch and with it")
    command = [sys.executable, "-m", "benchmarks.light", str(rounds), *names]
    done = subprocess.run(command, env=os.environ | _ONE_THREAD, capture_output=True, text=True, check=True)
    say("Cold start and memory without PyTorch")
    requests = 500 if quick else 10_000
    memory = subprocess.run(
        [sys.executable, "-c", _REQUESTS, str(requests)],
        env=os.environ | _ONE_THREAD,
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        "speed": json.loads(done.stdout),
        "start": {runtime: _cold_start(runtime, rounds) for runtime in ("light", "torch")},
        "requests": requests,
        "memory_mb": float(memory.stdout),
        "installed_mb": installed_megabytes(),
    }


def speeds(name: str, rounds: int) -> dict[str, Any]:
    """Milliseconds of CPU time for one query and many tokenized texts, without PyTorch and with it."""
    import numpy as np
    import torch

    from benchmarks.benchmark_model import BenchmarkModel
    from benchmarks.workloads import fixed_length_pairs
    from pairlight.inference.scoring import score_pairs, to_numpy
    from pairlight.layers.backends import use_backend
    from pairlight.models import build

    torch.set_num_threads(1)
    measured = BenchmarkModel(name, fixed_length_pairs(LEFT, RIGHT, TEXTS))
    model = measured.model
    state = {key: to_numpy(value) for key, value in model.state_dict().items()}
    with use_backend("numpy"):
        copy = build(name, measured.tokenizer.vocab_size, **model.settings)
        copy.prepare_state(state)
    copy.load_state_dict(state)
    left, right = np.repeat(measured.pairs.left[:1], TEXTS), measured.pairs.right[:TEXTS]
    runs = {
        side: lambda model=each: score_pairs(model, measured.texts, left, right)
        for side, each in (("light", copy), ("torch", model))
    }
    difference = float(np.abs(runs["light"]() - runs["torch"]()).max())
    times = {side: max(1, round(_SECONDS / max(seconds(run), 1e-4))) for side, run in runs.items()}
    ms = interleaved({side: lambda s=side, run=run: 1e3 * seconds(run, times[s]) for side, run in runs.items()}, rounds)
    return {"model": name, **ms, "difference": difference}


def _cold_start(runtime: str, rounds: int) -> dict[str, float]:
    """Wall and CPU seconds of `pairlight rank` with a ready-made model and one text, as a user runs it."""
    wall, cpu = [], []
    # As where users install it, modules are compiled to bytecode once: by the first run, which does not count.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PAIRLIGHT_RUNTIME": runtime}
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder, "texts.txt")
        texts.write_text("the tracking page shows where your delivery is\n", encoding="utf-8")
        command = [sys.executable, "-m", "pairlight", "rank", "qa-small", "where is my parcel", str(texts)]
        for _ in range(2 * rounds + 2):
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, env=environment, capture_output=True, check=True)
            wall.append(time.perf_counter() - started)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"wall": median(wall[1:]), "cpu": median(cpu[1:])}


if __name__ == "__main__":
    print(json.dumps([speeds(name, int(sys.argv[1])) for name in sys.argv[2:]]))
