"""One thread per test process and the same random examples every time, so that results are reproducible.

Where PyTorch is not installed, the inference part of the suite runs: tests that need a package of an extra are skipped.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from importlib.util import find_spec

import pytest
from hypothesis import settings

from pairlight.core.extras import EXTRAS
from toy_pairs import overlap

WITHOUT_TORCH = find_spec("torch") is None
if not WITHOUT_TORCH:
    import torch

    torch.set_num_threads(1)
settings.register_profile("reproducible", derandomize=True)
settings.load_profile("reproducible")


@pytest.fixture(scope="session")
def pairs():
    return overlap(40, seed=0)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    outcome = yield
    report = outcome.get_result()
    if report.failed and WITHOUT_TORCH and _missing(str(report.longrepr)):
        _skip(report, collector.path)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and WITHOUT_TORCH and _missing(str(call.excinfo.value)):
        _skip(report, item.path)


def _missing(message: str) -> str | None:
    """The package of an extra that is not installed and that an error is about."""
    needed = ("No module named '{}", "This needs the package {}:")
    found = (name for name in EXTRAS if any(each.format(name) in message for each in needed) and not find_spec(name))
    return next(found, None)


def _skip(report, path) -> None:
    report.outcome = "skipped"
    report.longrepr = (str(path), 0, "needs a package that is not installed")


def pytest_terminal_summary(terminalreporter):
    """Say which SIMD widths of the kernels this machine could test."""
    from pairlight.kernels.native.build import widths
    from pairlight.kernels.native.library import available

    skipped = [width for width in widths() if width not in available()]
    tested = ", ".join(available()) or "none"
    terminalreporter.write_line(f"SIMD widths tested: {tested}; skipped: {', '.join(skipped) or 'none'}")
