"""One thread for every test: tests run side by side, and the same bits come out."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

from toy_pairs import overlap

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def pairs():
    return overlap(40, seed=0)
