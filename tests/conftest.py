"""One thread per test process and the same random examples every time, so that results are reproducible."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

from toy_pairs import overlap

torch.set_num_threads(1)
settings.register_profile("reproducible", derandomize=True)
settings.load_profile("reproducible")


@pytest.fixture(scope="session")
def pairs():
    return overlap(40, seed=0)


def pytest_terminal_summary(terminalreporter):
    """Say which SIMD widths of the kernels this machine could test."""
    from pairlight.kernels.native.build import widths
    from pairlight.kernels.native.library import available

    skipped = [width for width in widths() if width not in available()]
    tested = ", ".join(available()) or "none"
    terminalreporter.write_line(f"SIMD widths tested: {tested}; skipped: {', '.join(skipped) or 'none'}")
