"""What waits is scored together, as much as a model scores in a short time."""

import asyncio
import threading

import numpy as np
import pytest

from pairlight.serve import work_queue
from pairlight.serve.served_model import PairScores
from pairlight.serve.work_queue import WorkQueue


class Clock:
    """A model that takes a fixed time for each pair, on a clock of its own."""

    def __init__(self, seconds):
        self.name, self.seconds, self.now, self.batches = "model", seconds, 0.0, []

    def perf_counter(self):
        return self.now

    def score(self, left, right):
        self.batches.append(len(left))
        self.now += self.seconds * len(left)
        scores = np.array([float(len(text)) for text in right], np.float32)
        return PairScores(scores, np.zeros(len(left), np.bool_), np.zeros(len(left), np.bool_))


@pytest.mark.parametrize(("seconds", "largest"), [(0.0002, 100), (0.00005, 400), (0.000001, 1000)])
def test_a_batch_is_as_large_as_what_is_scored_in_a_short_time(monkeypatch, seconds, largest):
    model, queue, start = Clock(seconds), WorkQueue(), threading.Event()
    monkeypatch.setattr(work_queue, "time", model)

    async def ask():
        blocked = asyncio.ensure_future(queue.run(start.wait))
        waiting = [asyncio.ensure_future(queue.score(model, ["q"] * 100, ["x" * n] * 100)) for n in range(1, 31)]
        await asyncio.sleep(0)  # all of them wait now
        start.set()
        await blocked
        return await asyncio.gather(*waiting)

    found = asyncio.run(ask())
    queue.close()
    assert [set(each.scores.tolist()) for each in found] == [{float(n)} for n in range(1, 31)]
    assert model.batches[0] == 100  # how fast the model is is not known yet
    assert max(model.batches) == model.batches[1] == largest
    assert sum(model.batches) == 3000
