"""How the compiled library is built, found and selected, and with how many threads it runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from kernels.forcing import forced
from pairlight.core.errors import InputError
from pairlight.kernels.autograd.arrays import native_for
from pairlight.kernels.autograd.kmax import kmax
from pairlight.kernels.native import build, library
from pairlight.kernels.native.library import status

ROOT = Path(__file__).parents[2]
has_compiler = any(shutil.which(name) for name in ("g++", "clang++", "c++"))


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not has_compiler, reason="no C++ compiler here")
def test_where_there_is_a_compiler_the_kernels_are_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAIRLIGHT_KERNELS", raising=False)
    now = status()
    assert now.native, now.reason
    assert now.width == library.available()[0]


def test_the_reference_implementations_can_be_selected() -> None:
    with forced("reference"):
        assert status() == library.Status(
            False, None, "PAIRLIGHT_KERNELS=reference selects the reference implementations"
        )
        assert library.native(np.float32) is None


def test_an_unknown_choice_is_an_error() -> None:
    message = "PAIRLIGHT_KERNELS=mmx is not known: use one of reference, portable, avx2, avx512, or unset it"
    with forced("mmx"), pytest.raises(InputError, match=message):
        status()


@pytest.mark.skipif("avx512" in library.available(), reason="this CPU has AVX-512")
def test_a_width_that_the_cpu_lacks_is_an_error() -> None:
    with forced("avx512"), pytest.raises(InputError, match="PAIRLIGHT_KERNELS=avx512"):
        status()


@pytest.mark.skipif(not library.available(), reason="no native kernels here")
def test_a_dtype_is_given_in_any_form_that_numpy_accepts() -> None:
    native = library.native("float32")
    assert native is not None
    assert native.lanes(np.float32) == native.lanes("f4") == native.lanes(np.dtype("float32"))
    assert native.lanes(np.float32) == 2 * native.lanes(float)


def test_half_precision_uses_the_reference_implementation() -> None:
    assert library.native(np.float16) is None
    assert native_for(torch.zeros(1, dtype=torch.float16)) is None
    one = torch.tensor([1])
    assert kmax(torch.ones(1, 1, 1, 1, dtype=torch.bfloat16), one, one, 1)[0].tolist() == [[[1.0]]]


def test_the_default_number_of_threads_is_that_of_usable_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAIRLIGHT_THREADS", raising=False)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert library.threads() == usable


def test_the_number_of_threads_is_set_by_environment_or_by_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_threads", None)
    monkeypatch.setenv("PAIRLIGHT_THREADS", "7")
    assert library.threads() == 7
    library.set_threads(3)
    assert library.threads() == 3
    library.set_threads(None)
    assert library.threads() == 7


@pytest.mark.parametrize("setting", ["0", "-1", "two", "1.5", "100000", "9" * 5000])
def test_an_invalid_number_of_threads_is_an_error(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_threads", None)
    monkeypatch.setenv("PAIRLIGHT_THREADS", setting)
    with pytest.raises(InputError, match=f"PAIRLIGHT_THREADS={setting[:30]} is not a number of threads"):
        library.threads()
    with pytest.raises(InputError, match="The number of threads is 0: use 1 or more"):
        library.set_threads(0)


FORKED_TORCH = """
import os, signal, torch
from pairlight.kernels.autograd.lstm import bilstm

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

FORKED_NUMPY = """
import os, signal, numpy as np
from pairlight.kernels.native.library import set_threads
from pairlight.kernels.native.lstm import bilstm

set_threads(2)
x, weight, bias = np.ones((40, 3, 2)), np.ones((8, 4)), np.ones(8)
run = lambda: bilstm(x, np.full(40, 3), weight, bias, weight, bias)
before = run()
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if np.array_equal(run(), before) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("code", [FORKED_TORCH, FORKED_NUMPY], ids=["torch", "numpy"])
def test_threads_also_work_in_a_forked_process(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_a_library_of_different_sources_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "fingerprint", lambda: "other")
    if build.LIBRARY.exists():
        found, reason = library._library.__wrapped__()
        assert found is None
        assert "compiled from different sources: run python -m pairlight.kernels.native.build" in reason


def test_a_missing_library_is_not_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


def test_without_compiled_kernels_the_numpy_functions_use_the_reference_implementation() -> None:
    code = """
from pathlib import Path
import numpy as np
from pairlight.kernels.native import build
build.LIBRARY = Path("none.so")
from pairlight.kernels.native.library import status
from pairlight.kernels.native.kmax import kmax
assert not status().native
print(kmax(np.arange(6.0).reshape(1, 1, 2, 3), np.array([2]), np.array([2]), 2)[0].tolist())
"""
    assert run_python(code) == "[[[4.0, 3.0]]]\n"


def test_without_a_compiler_the_installation_continues(tmp_path: Path) -> None:
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


def test_importing_the_kernels_does_not_load_the_library() -> None:
    code = "import pairlight.kernels.native.library as l; print(l._library.cache_info().currsize)"
    assert run_python(code) == "0\n"


def test_the_native_package_works_without_importing_pytorch() -> None:
    code = """
import sys
sys.modules["torch"] = None  # an import of it raises ImportError
import numpy as np
from pairlight.kernels.native.kernel_counts import cosine_counts, kernel_counts
from pairlight.kernels.native.kmax import kmax
from pairlight.kernels.native.lstm import bilstm, lstm
from pairlight.kernels.native.product_kmax import product_kmax
from pairlight.kernels.native.product_max import product_max
from pairlight.kernels.native.spatial_gru import GruWeights, spatial_gru
from pairlight.kernels.native.token_matches import token_matches
import pairlight.kernels.native.build, pairlight.kernels.native.library

x, n = np.ones((2, 3, 4), np.float32), np.array([2, 3])
weight, bias = np.ones((8, 6), np.float32), np.ones(8, np.float32)
s, u = np.ones((2, 1, 3, 3), np.float32), np.ones((2, 3, 1, 4), np.float32)
weights = GruWeights(*(np.ones(shape, np.float32) for shape in [(14, 7), (14,), (2, 7), (2,)]))
results = [lstm(x, n, weight, bias), bilstm(x, n, weight, bias, weight, bias), spatial_gru(s, n, n, weights)]
results += [kmax(s, n, n, 2)[0], product_kmax(u, u, n, n, 2)[0]]
results += [*product_max(x, x, n, n, 2), *token_matches(np.ones((2, 3), int), np.ones((2, 3), int), n, n)]
results += [kernel_counts(s, s[:, 0, 0], n, n, [1.0], [0.1]), cosine_counts(u, u, s[:, 0, 0], n, n, [1.0], [0.1])]
assert all(np.isfinite(result).all() for result in results)
del sys.modules["torch"]
print([name for name in sys.modules if name.split(".")[0] == "torch"])
"""
    for choice in ("", "reference"):
        assert run_python(code, PAIRLIGHT_KERNELS=choice) == "[]\n"


def test_no_file_of_the_native_package_mentions_the_torch_module() -> None:
    for file in build.HERE.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "import torch" not in text, file
        assert "from torch" not in text, file


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++") or not shutil.which("nm"), reason="needs g++ and nm")
@pytest.mark.parametrize("width", build.widths())
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_a_width_has_no_function_that_the_linker_could_share_with_another(
    width: str, level: str, tmp_path: Path
) -> None:
    compiled = build.compile_width(width, tmp_path, [level])
    names = subprocess.run(["nm", "-C", "--defined-only", str(compiled)], capture_output=True, text=True, check=True)
    shared = [line for line in names.stdout.splitlines() if line.split()[1] in "WVu" and f"{width}::" not in line]
    assert shared == []
