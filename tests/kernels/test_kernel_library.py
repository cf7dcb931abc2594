import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernels.forcing import forced
from pairlight.core.errors import InputError
from pairlight.kernels.native import build, kmax, library, status

ROOT = Path(__file__).parents[2]
has_compiler = any(shutil.which(name) for name in ("g++", "clang++", "c++"))


@pytest.mark.skipif(not has_compiler, reason="no C++ compiler here")
def test_where_there_is_a_compiler_the_kernels_are_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAIRLIGHT_KERNELS", raising=False)
    now = status()
    assert now.native, now.reason
    assert now.width == library.available()[0]


def test_the_twins_can_be_asked_for() -> None:
    with forced("torch"):
        assert status() == library.Status(False, None, "PAIRLIGHT_KERNELS=torch asks for the PyTorch twins")


def test_an_unknown_choice_is_refused() -> None:
    with (
        forced("mmx"),
        pytest.raises(InputError, match="PAIRLIGHT_KERNELS=mmx is not known: give one of torch, portable"),
    ):
        status()


@pytest.mark.skipif("avx512" in library.available(), reason="this CPU has AVX-512")
def test_a_width_the_cpu_lacks_is_refused() -> None:
    with forced("avx512"), pytest.raises(InputError, match="PAIRLIGHT_KERNELS=avx512"):
        status()


def test_half_precision_goes_to_the_twin() -> None:
    assert library.native_for(torch.zeros(1, dtype=torch.float16)) is None
    one = torch.tensor([1])
    assert kmax(torch.ones(1, 1, 1, 1, dtype=torch.bfloat16), one, one, 1)[0].tolist() == [[[1.0]]]


FORKED = """
import os, signal, torch
from pairlight.kernels import bilstm

torch.set_num_threads(2)
x, weight, bias = torch.ones(40, 3, 2), torch.ones(8, 4), torch.ones(8)
run = lambda: bilstm(x, torch.full((40,), 3), weight, bias, weight, bias)
before = run()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if run().equal(before) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_threads_serve_a_forked_process_as_well() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_a_library_of_other_sources_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "fingerprint", lambda: "other")
    if build.LIBRARY.exists():
        found, reason = library._library.__wrapped__()
        assert found is None
        assert "compiled from other sources: run python -m pairlight.kernels.native.build" in reason


def test_a_missing_library_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "LIBRARY", tmp_path / "none.so")
    found, reason = library._library.__wrapped__()
    assert found is None
    assert "install a C++ compiler" in reason


def test_without_compiled_kernels_their_tests_skip(tmp_path: Path) -> None:
    (tmp_path / "uncompiled.py").write_text(
        "from pathlib import Path\nfrom pairlight.kernels.native import build\nbuild.LIBRARY = Path('none.so')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "uncompiled", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    chosen = [*command, "tests/kernels", "-k", "portable"]
    done = subprocess.run(chosen, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_without_a_compiler_the_install_goes_on(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build_ext",
        "--build-lib",
        str(tmp_path),
        "--build-temp",
        str(tmp_path),
    ]
    environment = {**os.environ, "CXX": "no-such-compiler"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no C++ compiler found (no-such-compiler)" in done.stderr
    assert not list(tmp_path.rglob("*.so"))


def test_importing_the_kernels_loads_no_library() -> None:
    code = "import pairlight.kernels.native.library as l; print(l._library.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++") or not shutil.which("nm"), reason="needs g++ and nm")
@pytest.mark.parametrize("width", build.widths())
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_a_width_has_no_function_that_the_linker_could_give_to_another(width: str, level: str, tmp_path: Path) -> None:
    compiled = build.compile_width(width, tmp_path, [level])
    names = subprocess.run(["nm", "-C", "--defined-only", str(compiled)], capture_output=True, text=True, check=True)
    shared = [line for line in names.stdout.splitlines() if line.split()[1] in "WVu" and f"{width}::" not in line]
    assert shared == []
