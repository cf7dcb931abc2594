"""Compiles the native kernels at install where there is a compiler; elsewhere their slower references are used.

PAIRLIGHT_WHEEL=native makes a wheel for any Python 3 that fails to build without kernels, and PAIRLIGHT_WHEEL=pure one
without kernels for any machine: see tools/release.py.
"""

import os
import runpy
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

KERNELS = Path("src", "pairlight", "kernels", "native")
WHEEL = os.environ.get("PAIRLIGHT_WHEEL")


class BuildKernels(build_ext):
    """Builds plain C++ behind a C ABI, which needs neither the flags nor the file name of a Python extension."""

    def build_extension(self, ext: Extension) -> None:
        build = runpy.run_path(str(KERNELS / "build.py"))
        into = Path(self.get_ext_fullpath(ext.name))
        if WHEEL == "native":
            return build["compile_library"](into, link=["-s"])
        try:
            build["compile_library"](into)
        except Exception as error:
            # A slower pairlight is better than none.
            self.warn(f"the native kernels were not built, so slower reference implementations are used: {error}")

    def get_ext_filename(self, fullname: str) -> str:
        return os.path.join(*fullname.split(".")) + ".so"


class AnyPython(bdist_wheel):
    """The kernels do not use Python's C API, so one wheel is for all versions of Python 3."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


sources = [str(KERNELS / "csrc" / name) for name in ("common.cpp", "width.cpp")]
kernels = Extension("pairlight.kernels.native._native", sources, optional=WHEEL != "native")
setup(
    ext_modules=[] if WHEEL == "pure" else [kernels],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": AnyPython},
)
