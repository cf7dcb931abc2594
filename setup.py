"""Compiles the native kernels at install where there is a compiler; elsewhere their slower references are used."""

import os
import runpy
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = Path("src", "pairlight", "kernels", "native")


class BuildKernels(build_ext):
    """Builds plain C++ behind a C ABI, which needs neither the flags nor the file name of a Python extension."""

    def build_extension(self, ext: Extension) -> None:
        build = runpy.run_path(str(KERNELS / "build.py"))
        try:
            build["compile_library"](Path(self.get_ext_fullpath(ext.name)))
        except Exception as error:
            # A slower pairlight is better than none.
            self.warn(f"the native kernels were not built, so slower reference implementations are used: {error}")

    def get_ext_filename(self, fullname: str) -> str:
        return os.path.join(*fullname.split(".")) + ".so"


sources = [str(KERNELS / "csrc" / name) for name in ("common.cpp", "width.cpp")]
setup(
    ext_modules=[Extension("pairlight.kernels.native._native", sources, optional=True)],
    cmdclass={"build_ext": BuildKernels},
)
