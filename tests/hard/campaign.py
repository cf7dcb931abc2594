"""Runs generated hostile inputs through the command line, and records tracebacks, hangs, half-written files and memory.

python tests/hard/campaign.py --cases 10000 --out build/campaign.json

A worker process runs one case after the other; its parent restarts it after a crash or a hang. Run the same command
again to continue. A case that fails can be run alone with --only NUMBER.
"""

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hard.hostile import make_case
from hard.hostile_files import Base, one_process
from pairlight.core.files import is_leftover

HANG_SECONDS = 60


def run_case(number: int, base: Base, command: Any) -> dict[str, Any]:
    """Run a case in this process; the result has the exit code and what is wrong, if anything is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        case = make_case(number, base, folder)
        out, err, code, fault = StringIO(), StringIO(), 0, ""
        try:
            with one_process(), redirect_stdout(out), redirect_stderr(err):
                command.main(args=list(case.arguments), prog_name="pairlight")
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        except BaseException as error:
            import traceback

            fault = f"traceback: {type(error).__name__}: {str(error)[:200]}\n{traceback.format_exc()[-1500:]}"
        lines = [line for line in err.getvalue().splitlines() if line.strip()]
        if not fault and "Traceback" in err.getvalue():
            fault = f"traceback in the output: {err.getvalue()[-500:]}"
        if not fault and (code not in (0, 1, 2) or (code and not lines)):
            fault = f"exit code {code} with {lines[-1:]}"
        if not fault and code and not lines[-1].startswith(("pairlight: ", "Error: ")):
            fault = f"no clear line: {lines[-1][:300]}"
        left = [str(path.relative_to(folder)) for path in folder.rglob("*") if is_leftover(path.name)]
        if not fault and (left or (case.out is not None and case.out.exists() != (code == 0))):
            fault = f"half-written: {left or case.out}, exit code {code}"
        return {"number": number, "kind": case.kind, "code": code, "fault": fault, "line": (lines or [""])[-1][:200]}


def work(connection: Connection, base: Base) -> None:
    """The main function of a worker: run the cases that arrive."""
    import torch
    import typer.main

    from pairlight import cli

    torch.set_num_threads(1)
    command = typer.main.get_command(cli.app_with(cli.COMMANDS))
    devnull = os.open(os.devnull, os.O_RDONLY)
    printed = tempfile.TemporaryFile()  # noqa: SIM115 - open until the end: what libraries and processes print
    for stream, handle in ((0, devnull), (1, printed.fileno()), (2, printed.fileno())):
        os.dup2(handle, stream)
    while True:
        try:
            number = connection.recv()
        except EOFError:
            return
        result = run_case(number, base, command)
        printed.seek(0)
        said = printed.read().decode("utf-8", "replace")
        printed.seek(0)
        printed.truncate()
        if "Traceback" in said and not result["fault"]:
            result["fault"] = f"traceback of another process: {said[-1500:]}"
        connection.send(result | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})


class Campaign:
    """The totals so far, kept in a small JSON file."""

    def __init__(self, out: Path, base: Base) -> None:
        self.out, self.base = out, base
        self.done, self.peak, self.seconds = 0, 0, 0.0
        self.kinds: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.slowest: dict[str, Any] = {"seconds": 0.0}
        self.faults: list[dict[str, Any]] = []
        if out.exists():
            for name, value in json.loads(out.read_bytes()).items():
                setattr(self, name, Counter(value) if name in ("kinds", "codes") else value)
        self.process: Any = None
        self.connection: Any = None

    def run(self, numbers: range) -> None:
        started = time.monotonic() - self.seconds
        for number in numbers[self.done :]:
            result = self.one(number)
            self.done += 1
            self.kinds[result["kind"]] += 1
            self.codes[str(result["code"])] += 1
            if result["fault"]:
                self.faults.append({name: result[name] for name in ("number", "kind", "fault")})
            self.seconds = round(time.monotonic() - started, 1)
            if self.done % 100 == 0:
                self.save()
        self.save()
        self.stop()

    def one(self, number: int) -> dict[str, Any]:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, there = context.Pipe()
            self.process = context.Process(
                target=work, args=(there, self.base)
            )  # not a daemon, which may start no others
            self.process.start()
            there.close()
        began = time.monotonic()
        self.connection.send(number)
        try:
            if not self.connection.poll(HANG_SECONDS):
                self.stop(kill=True)
                return {"number": number, "kind": "unknown", "code": "hang", "fault": f"hang over {HANG_SECONDS} s"}
            result: dict[str, Any] = self.connection.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.process = None
            return {"number": number, "kind": "unknown", "code": "crash", "fault": f"the process ended with {code}"}
        seconds = round(time.monotonic() - began, 1)
        if seconds > self.slowest["seconds"]:
            self.slowest = {"seconds": seconds, "number": number, "kind": result["kind"]}
        self.peak = max(self.peak, result["peak"])
        return result

    def stop(self, kill: bool = False) -> None:
        if self.process is not None:
            self.connection.close()
            if kill:
                self.process.kill()
            self.process.join()
            self.process = None

    def save(self) -> None:
        names = ("done", "peak", "seconds", "kinds", "codes", "slowest", "faults")
        content = json.dumps({name: getattr(self, name) for name in names}, indent=1)
        temporary = self.out.with_name(f"{self.out.name}.new")
        temporary.write_text(content + "\n", encoding="utf-8")
        temporary.replace(self.out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/campaign.json"))
    parser.add_argument("--only", type=int, help="Run one case here, and print it.")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    base = Base(given.out.parent / "campaign-base")
    if given.only is not None:
        import typer.main

        from pairlight import cli

        folder = given.out.parent / f"case-{given.only}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        print(make_case(given.only, base, folder).arguments)
        print(json.dumps(run_case(given.only, base, typer.main.get_command(cli.app_with(cli.COMMANDS))), indent=1))
        return 0
    campaign = Campaign(given.out, base)
    campaign.run(range(given.first, given.first + given.cases))
    faults, memory = len(campaign.faults), campaign.peak / 1e9
    print(f"{campaign.done} cases, {faults} faults, peak {memory:.2f} GB, {campaign.seconds:.0f} s")
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
