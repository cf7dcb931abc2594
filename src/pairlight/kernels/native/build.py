"""Compiles the C++ sources once for each SIMD width and links them into one library.

setup.py does this at installation. After a change of the sources, run `python -m pairlight.kernels.native.build`.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "csrc"
LIBRARY = HERE / "_native.so"

_FLAGS = ["-std=c++17", "-O3", "-fPIC", "-Wall", "-Wextra", "-Wno-psabi"]
_AVX512 = ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma", "-mprefer-vector-width=512"]
_WIDTHS = {"portable": (16, []), "avx2": (32, ["-mavx2", "-mfma", "-mf16c"]), "avx512": (64, _AVX512)}


class BuildError(Exception):
    """The kernels cannot be compiled; the message contains the reason."""


def widths() -> list[str]:
    """The SIMD widths to compile on this machine."""
    return list(_WIDTHS) if platform.machine() in ("x86_64", "AMD64") else ["portable"]


def fingerprint() -> str:
    """A hash of the sources, to detect a library that was compiled from different ones."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def compile_library(into: Path, extra: Sequence[str] = (), link: Sequence[str] = ()) -> None:
    """Compile and link all widths into the file `into`, which is only replaced on success.

    `extra` are flags of the compiler and the linker, `link` those of the linker alone.
    """
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent) as name:
        folder = Path(name)
        objects = [compile_width(width, folder, extra) for width in widths()]
        define = [f'-DPAIRLIGHT_FINGERPRINT="{fingerprint()}"']
        objects.append(_compile("common.cpp", folder / "common.o", [*define, *extra]))
        library = folder / into.name
        _run(["-shared", *extra, *link, *map(str, objects), "-pthread", "-ldl", "-lm", "-o", str(library)])
        os.replace(library, into)


def compile_width(width: str, folder: Path, extra: Sequence[str] = ()) -> Path:
    """Compile the kernels of one width to an object file."""
    vector, machine = _WIDTHS[width]
    define = [f"-DPAIRLIGHT_WIDTH={width}", f"-DPAIRLIGHT_BYTES={vector}"]
    plain = ["-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"]
    return _compile("width.cpp", folder / f"{width}.o", [*machine, *define, *plain, *extra])


def _compile(source: str, into: Path, flags: list[str]) -> Path:
    _run([*_FLAGS, *flags, "-c", str(SOURCES / source), "-o", str(into)])
    return into


def _compiler() -> str:
    if os.name != "posix":
        raise BuildError("the native kernels can only be compiled on Linux and macOS")
    requested = os.environ.get("CXX")
    for name in [requested] if requested else ["g++", "clang++", "c++"]:
        if shutil.which(name):
            return name
    raise BuildError(
        f"no C++ compiler found ({requested or 'g++, clang++ or c++'}): install one, then build the kernels"
    )


def _run(arguments: list[str]) -> None:
    compiler = _compiler()
    done = subprocess.run([compiler, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{compiler} failed to compile the kernels:\n{done.stderr.strip()}")


if __name__ == "__main__":
    compile_library(LIBRARY)
    print(f"Compiled {LIBRARY} for {', '.join(widths())}.")
