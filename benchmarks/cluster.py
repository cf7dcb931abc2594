"""Pairs per CPU-second of a scoring job on Ray next to one process: python -m benchmarks.cluster FOLDER PAIRS.

CPU time is that of all processes of a job, start included, so that other work on the machine does not matter.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
WORDS = [a + b for a in ("ba", "de", "fi", "go", "ku", "la", "me", "ni") for b in ("ma", "lo", "ri", "du", "si", "ta")]
FILES = 20


def write_pairs(folder: Path, pairs: int) -> None:
    """Parquet files of queries with ten texts each, of 5 to 40 words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    draw = random.Random(1)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(5, 40))) for _ in range(50_000)]
    for number in range(FILES):
        queries = [draw.choice(texts) for _ in range(pairs // FILES // 10)]
        table = {
            "left": [query for query in queries for _ in range(10)],
            "right": draw.choices(texts, k=10 * len(queries)),
        }
        pq.write_table(pa.table(table), folder / f"{number:03}.parquet")


def cpu_seconds(root: int, known: dict[int, float]) -> None:
    """Note the CPU time of a process and all below it, whose parents may have ended."""
    parents: dict[int, tuple[int, float]] = {}
    for path in Path("/proc").iterdir():
        try:
            fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
            parents[int(path.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS
        except (OSError, ValueError, IndexError):
            continue
    known.setdefault(root, 0.0)
    for _ in range(6):  # generations
        known.update({pid: 0.0 for pid, (parent, _) in parents.items() if parent in known and pid not in known})
    for pid in known:
        if pid in parents:
            known[pid] = parents[pid][1]


def measure(command: list[str]) -> dict[str, float]:
    """Wall-clock and CPU seconds of a command and all its processes."""
    started, known = time.perf_counter(), dict[int, float]()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        done = threading.Event()

        def watch() -> None:
            while not done.wait(0.25):
                cpu_seconds(process.pid, known)

        watcher = threading.Thread(target=watch)
        watcher.start()
        code = process.wait()
        done.set()
        watcher.join()
    if code:
        raise SystemExit(f"{' '.join(command)} failed.")
    return {"seconds": time.perf_counter() - started, "cpu": sum(known.values())}


def main() -> None:
    folder, pairs = Path(sys.argv[1]), int(sys.argv[2])
    if not (folder / "pairs").exists():
        write_pairs(folder / "pairs", pairs)
    score = [sys.executable, "-m", "pairlight", "score", "qa-small", str(folder / "pairs")]
    results = {}
    for name, more in {"one process": ["--threads", "1"], "ray": ["--cluster", "auto"]}.items():
        found = measure([*score, "--out", str(folder / name.replace(" ", "-")), *more])
        results[name] = {**found, "pairs_per_cpu_second": pairs / found["cpu"]}
    ratio = results["ray"]["pairs_per_cpu_second"] / results["one process"]["pairs_per_cpu_second"]
    print(json.dumps({"pairs": pairs, **results, "ratio": ratio}, indent=2))


if __name__ == "__main__":
    main()
