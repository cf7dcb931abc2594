"""One thread for every test, and the same examples every time: tests run side by side, and the same bits come out."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

from toy_pairs import overlap

torch.set_num_threads(1)
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


@pytest.fixture(scope="session")
def pairs():
    return overlap(40, seed=0)
