"""Kills commands at every write and at random moments, runs them again, and compares with an undisturbed run.

python tests/hard/kills.py --kills 500 --out build/kills.json

Commands run in forks of this process, so that a kill costs a second. Run the same command again to continue.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pairlight.core.files import is_leftover
from pairlight.core.folders import LOCK

SMALL = ["--model", "mv-lstm", "--vectors", "none", "--init", "none"]
SMALL += [part for each in ("hidden=3", "k=2", "dim=4", "evidence=false") for part in ("--set", each)]
HANG_SECONDS = 120
MODES = ("before", "during", "after")
AT_A_WRITE, AT_A_MOMENT = "at a write", "at a random moment"
TIMES = ("seconds", "train_seconds", "sha256")  # values that differ from run to run, and checksums of these
SHOWN = (".html", ".md", ".png")  # pages with times


@dataclass(frozen=True)
class Scenario:
    """A command that writes to `out`, in a folder that was prepared, and what is compared afterwards."""

    name: str
    run: Callable[[Path], None]  # in a fork; raises SystemExit
    outcome: Callable[[Path], Any]
    prepare: Callable[[Path], None] = lambda folder: None  # writes to out, once


class Kills:
    """The scenarios on a folder of small data."""

    def __init__(self, folder: Path) -> None:
        from cli.helpers import write_pairs
        from pairlight.matcher import Matcher
        from toy_pairs import overlap

        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        pairs = overlap(12, seed=0)
        self.pairs = write_pairs(folder / "pairs.tsv", pairs)
        rows = [f"{i}\t{text}" for i, text in enumerate(pairs.texts)]
        self.documents = folder / "documents.tsv"
        self.documents.write_text("id\ttext\n" + "\n".join(rows) + "\n")
        self.parquet = folder / "parquet"
        self.parquet.mkdir(exist_ok=True)
        sides = {"left": pairs.texts[:20], "right": pairs.texts[20:40]}
        for name in ("a", "b"):
            pq.write_table(pa.table(sides), self.parquet / f"{name}.parquet")
        changed = folder / "changed.tsv"
        changed.write_text(
            "id\ttext\n" + "\n".join(f"{i}\tchanged {text}" for i, text in enumerate(pairs.texts)) + "\n"
        )
        positives = [
            f"{pairs.texts[i]}\t{pairs.texts[j]}" for i, j in zip(pairs.left[::4], pairs.right[::4], strict=True)
        ]
        asked = folder / "asked.tsv"
        asked.write_text("left\tright\n" + "\n".join(positives * 1) + "\n")
        model = folder / "model"

        def save_model() -> None:
            options = {"vectors": "none", "epochs": 1, "init": None, "progress": False, "baseline": False}
            Matcher("mv-lstm", hidden=3, k=2, dim=4, evidence=False).fit(pairs, pairs, **options).save(model)

        in_fork(save_model, folder / "log")  # so that this process never starts threads
        train = ["train", self.pairs, *SMALL, "--epochs", "3", "--patience", "0"]
        compare = ["--models", "bm25,mv-lstm", "--seeds", "1", "--epochs", "1", "--vectors", "none", "--jobs", "1"]
        self.scenarios = [
            Scenario("train", command(*train, "--out"), files),
            Scenario(
                "train again", command(*train, "--overwrite", "--out"), files, lambda o: shutil.copytree(model, o)
            ),
            Scenario(
                "calibrate",
                lambda o: command("calibrate", o, self.pairs)(None),
                files,
                lambda o: shutil.copytree(model, o),
            ),
            Scenario("score", command("score", model, self.pairs, "--out", suffix=".tsv"), files),
            Scenario("score folder", command("score", model, self.parquet, "--out"), files),
            Scenario("encode", command("encode", model, self.documents, "--out"), files),
            Scenario("build", command("build", "citation", asked, "--out"), files),
            Scenario(
                "tune",
                command(
                    "tune",
                    self.pairs,
                    "--trials",
                    "3",
                    "--epochs",
                    "1",
                    "--vectors",
                    "none",
                    "--try",
                    "hidden=2,3",
                    "--out",
                ),
                files,
            ),
            Scenario(
                "compare", lambda o: in_series(lambda: command("compare", self.pairs, *compare, "--out")(o)), files
            ),
            Scenario(
                "index",
                lambda o: in_small_batches(lambda: command("index", self.documents, "--model", "none", "--out")(o)),
                documents,
            ),
            Scenario(
                "index update",
                lambda o: in_small_batches(lambda: command("index", "update", o, changed)(None)),
                documents,
                self.make_index,
            ),
        ]

    def make_index(self, out: Path) -> None:
        kept = self.folder / "index"
        if not kept.exists():
            code, said = in_fork(
                lambda: command("index", self.documents, "--model", "none", "--out")(kept), self.folder / "log"
            )
            if code:
                raise RuntimeError(said)
        shutil.copytree(kept, out)


def command(*arguments: object, suffix: str = "") -> Callable[[Path | None], None]:
    """Run the command line in this process; the path of the result is its last argument."""

    def run(out: Path | None) -> None:
        from pairlight import cli

        given = [] if out is None else [f"{out}{suffix}"]
        sys.argv = ["pairlight", *map(str, arguments), *given]
        cli.main()

    return run


def in_series(run: Callable[[], None]) -> None:
    """Run `compare` without worker processes, which would have to import everything."""
    from pairlight.experiments import executor

    executor.ProcessExecutor = lambda jobs: executor.SerialExecutor()  # type: ignore[assignment,misc]
    run()


def in_small_batches(run: Callable[[], None]) -> None:
    """Commit an index often."""
    from pairlight.search import index

    index.BATCH = 16
    run()


def files(out: Path) -> Any:
    """The contents of all files, without what depends on the time."""
    found = sorted(path for path in out.parent.rglob("*") if path.is_file() and path.suffix not in SHOWN)
    return {str(path.relative_to(out.parent)): _content(path) for path in found}


def _content(path: Path) -> Any:
    if path.suffix == ".json":
        return _without_times(json.loads(path.read_text()))
    if path.suffix == ".jsonl":
        return [_without_times(json.loads(line)) for line in path.read_text().splitlines()]
    return path.read_bytes().hex()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(each) for name, each in value.items() if name not in TIMES}
    return [_without_times(each) for each in value] if isinstance(value, list) else value


def documents(out: Path) -> Any:
    """The documents of an index, and what is found with its vectors."""
    from pairlight import Index

    with Index.open(out) as index:
        index.check()
        stored = sorted((each.id, each.text) for each in index.documents.all_documents())
        queries = [text for _, text in stored[:3]]
        found = [[(each.document.id, each.score) for each in index.stage("vectors").candidates(q, 5)] for q in queries]
    return [stored, found, sorted(path.name for path in out.iterdir())]


def in_fork(work: Callable[[], Any], log: Path, kill_after: float | None = None) -> tuple[int, str]:
    """Run in a fork, killed after some seconds if wanted; the exit code (-9 if killed) and what was printed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(handle, stream)
            sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
            warnings.simplefilter("default")
            work()
            code = 0
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 0 if stopped.code is None else 1
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    started = time.monotonic()
    limit = HANG_SECONDS if kill_after is None else kill_after
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), log.read_text(errors="replace") if log.exists() else ""
        if time.monotonic() - started > limit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return (-9, "") if kill_after is not None else (1, f"hang after {limit} s")
        time.sleep(0.002)


def stop_at(number: int, mode: str, count: Path | None = None) -> None:
    """Kill this process at a write, counted from 1 over all files: before it, with half of it written, or after it.

    With `count`, only the number of writes is kept in that file.
    """
    seen = 0

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if count is not None:
                count.write_text(str(seen))
            here = seen == number
            # A file that data are appended to keeps what it had.
            if (
                here
                and mode == "during"
                and real is fsync
                and is_leftover(Path(os.readlink(f"/proc/self/fd/{arguments[0]}")).name)
            ):
                size = os.fstat(arguments[0]).st_size
                with contextlib.suppress(OSError):  # a folder
                    os.ftruncate(arguments[0], size // 2)
            if here and mode != "after":
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **options)
            if here:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    fsync = os.fsync
    for name in ("fsync", "replace", "unlink", "rmdir", "mkdir", "truncate"):
        setattr(os, name, watched(getattr(os, name)))


@dataclass
class Undisturbed:
    """What a scenario gives when nothing happens, how long it takes, and how many writes it makes."""

    outcome: Any
    seconds: float
    writes: int


def outcome_of(scenario: Scenario, out: Path) -> Any:
    """The outcome, computed in a fork; None if it cannot be."""
    result, log = out.parent.parent / "outcome.json", out.parent.parent / "log"
    result.unlink(missing_ok=True)
    code, _ = in_fork(lambda: result.write_text(json.dumps(scenario.outcome(out))), log)
    return json.loads(result.read_text()) if code == 0 else None


def use_one_thread() -> None:
    """In this process and its forks."""
    import torch

    torch.set_num_threads(1)


def import_modules_of(scenario: Scenario, out: Path, log: Path) -> None:
    """Import what the command imports, so that its forks do not have to."""

    def run() -> None:
        with contextlib.suppress(SystemExit):
            scenario.run(out)
        print("\n" + "\n".join(f"import {name}" for name in sys.modules))

    _, said = in_fork(run, log)
    for line in said.splitlines():
        if line.startswith("import "):
            with contextlib.suppress(Exception):
                import_module(line.removeprefix("import "))


def undisturbed(scenario: Scenario, folder: Path) -> Undisturbed:
    out, log, count = folder / "result" / "out", folder / "log", folder / "count"
    _fresh(scenario, out)
    import_modules_of(scenario, out, log)
    _fresh(scenario, out)
    started = time.monotonic()
    code, said = in_fork(lambda: scenario.run(out), log)
    seconds = time.monotonic() - started
    found = outcome_of(scenario, out)
    if code or found is None:
        raise RuntimeError(f"{scenario.name}: {said}")
    _fresh(scenario, out)
    in_fork(lambda: (stop_at(0, "", count), scenario.run(out)), log)
    return Undisturbed(found, seconds, int(count.read_text()))


def kill_once(scenario: Scenario, expected: Undisturbed, folder: Path, where: tuple[int, str] | float) -> str | None:
    """Kill the command at a write, or after a share of its time, run it again and compare; None if all is well."""
    out, log = folder / "result" / "out", folder / "log"
    _fresh(scenario, out)
    if isinstance(where, float):
        code, said = in_fork(lambda: scenario.run(out), log, kill_after=where * expected.seconds)
    else:
        code, said = in_fork(lambda: (stop_at(*where), scenario.run(out)), log)
    if code not in (-9, 0):
        return f"exit code {code} before the kill: {said[-500:]}"
    complete = code == 0 or outcome_of(scenario, out) == expected.outcome
    if code == -9:
        again, said = in_fork(lambda: scenario.run(out), log)
        refused = again == 2 and "is not empty" in said  # it had finished before it was killed
        if again and not (refused and complete):
            return f"exit code {again} after the kill: {said[-500:]}"
    found = outcome_of(scenario, out)
    if found != expected.outcome:
        return "another result" if found is not None else "no result"
    left = [path.name for path in out.parent.rglob("*") if is_leftover(path.name) or path.name == LOCK]
    return f"left behind: {left}" if left and not complete else None


def _fresh(scenario: Scenario, out: Path) -> None:
    shutil.rmtree(out.parent, ignore_errors=True)
    out.parent.mkdir(parents=True)
    scenario.prepare(out)


def every_write(expected: Undisturbed) -> list[tuple[int, str]]:
    return [(number, mode) for number in range(1, expected.writes + 1) for mode in MODES]


def places(name: str, expected: Undisturbed, share: int, done: Mapping[str, int]) -> list[Any]:
    """Where to kill a command so that there are `share` kills with those that are done; no place of a write twice."""
    rng = random.Random(name)
    writes = every_write(expected)
    rng.shuffle(writes)
    wanted = min(len(writes), share - share // 3)
    chosen: list[Any] = writes[done[AT_A_WRITE] : wanted]
    return chosen + [rng.random() for _ in range(share - sum(done.values()) - len(chosen))]


def coverage(name: str, known: Mapping[str, Any]) -> str:
    """How many of the places of a command's writes it was killed at."""
    done, writes = known["done"][name], known["writes"][name]
    return (
        f"{name}: killed at {done[AT_A_WRITE]} of {len(MODES) * writes} places of its {writes} writes, and at "
        f"{done[AT_A_MOMENT]} random moments"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path("build/kills.json"))
    given = parser.parse_args()
    use_one_thread()
    known: dict[str, Any] = {"done": {}, "writes": {}, "differences": []}
    if given.out.exists():
        known |= json.loads(given.out.read_text())
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scenarios = Kills(Path(name) / "data").scenarios
        share = -(-given.kills // len(scenarios))
        for scenario in scenarios:
            done = known["done"].setdefault(scenario.name, {AT_A_WRITE: 0, AT_A_MOMENT: 0})
            if sum(done.values()) >= share and scenario.name in known["writes"]:
                continue
            folder = Path(name) / scenario.name
            folder.mkdir()
            expected = undisturbed(scenario, folder)
            known["writes"][scenario.name] = expected.writes
            for where in places(scenario.name, expected, share, done):
                fault = kill_once(scenario, expected, folder, where)
                done[AT_A_MOMENT if isinstance(where, float) else AT_A_WRITE] += 1
                if fault is not None:
                    known["differences"].append({"command": scenario.name, "where": where, "fault": fault})
                    print(scenario.name, where, fault, file=sys.stderr, flush=True)
                given.out.write_text(json.dumps(known, indent=1) + "\n")
            given.out.write_text(json.dumps(known, indent=1) + "\n")
            print(coverage(scenario.name, known), file=sys.stderr, flush=True)
    print("\n".join(coverage(name, known) for name in known["writes"]))
    total = Counter(kind for done in known["done"].values() for kind, n in done.items() for _ in range(n))
    print(f"{sum(total.values())} kills ({dict(total)}), {len(known['differences'])} differences")


if __name__ == "__main__":
    main()
