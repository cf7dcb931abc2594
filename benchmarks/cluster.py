"""A scoring job on Ray with one and two CPUs next to one process: python -m benchmarks.cluster FOLDER PAIRS.

CPU time is that of all processes of a job, start included, so that other work on the machine does not matter. Time by
the clock needs two free cores; `between_blocks` is that from the first finished block to the last.
"""

import json
import os
import random
import shutil
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


ON_RAY = """
import os, sys
os.environ["RAY_worker_niceness"] = "0"  # as a cluster that pairlight starts
import ray
from pairlight.cli import main
ray.init("local", num_cpus=int(sys.argv.pop(1)), include_dashboard=False, object_store_memory=200_000_000)
main()
"""


def between_blocks(out: Path) -> float:
    """Seconds from the first finished block to the last."""
    times = sorted(path.stat().st_mtime for path in (out / "_done").iterdir())
    return times[-1] - times[0]


def main() -> None:
    folder, pairs = Path(sys.argv[1]), int(sys.argv[2])
    if not (folder / "pairs").exists():
        write_pairs(folder / "pairs", pairs)
    here = [sys.executable, "-m", "pairlight"]
    commands = {"one process": ([*here], ["--threads", "1"])}
    for cpus in (1, 2):
        commands[f"ray, {cpus} CPU"] = ([sys.executable, "-c", ON_RAY, str(cpus)], ["--cluster", "auto"])
    results = {}
    for name, (start, more) in commands.items():
        out = folder / name.replace(" ", "-")
        shutil.rmtree(out, ignore_errors=True)
        found = measure([*start, "score", "qa-small", str(folder / "pairs"), "--out", str(out), *more])
        results[name] = {**found, "between_blocks": between_blocks(out), "pairs_per_cpu_second": pairs / found["cpu"]}
    alone, one, two = results.values()
    ratios = {
        "cpu": two["pairs_per_cpu_second"] / alone["pairs_per_cpu_second"],
        "wall": one["seconds"] / two["seconds"],
        "wall_between_blocks": one["between_blocks"] / two["between_blocks"],
    }
    print(json.dumps({"pairs": pairs, **results, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
