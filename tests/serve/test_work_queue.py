"""What waits is scored together, as much as a model scores in a short time."""

import asyncio
import threading

import numpy as np
import pytest

from pairlight.serve import work_queue
from pairlight.serve.served_model import PairScores
from pairlight.serve.work_queue import CHUNK, WorkQueue


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


def test_what_waits_for_a_client_that_has_gone_is_skipped(monkeypatch):
    model, queue, start = Clock(0.0002), WorkQueue(), threading.Event()
    monkeypatch.setattr(work_queue, "time", model)
    chunks = 4

    async def ask():
        blocked = asyncio.ensure_future(queue.run(start.wait))
        gone = asyncio.ensure_future(queue.score(model, ["q"] * CHUNK * chunks, ["x"] * CHUNK * chunks))
        stays = asyncio.ensure_future(queue.score(model, ["q"] * 10, ["xy"] * 10))
        await asyncio.sleep(0)  # both of them wait now
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        start.set()
        await blocked
        return await stays

    found = asyncio.run(ask())
    queue.close()
    assert found.scores.tolist() == [2.0] * 10
    assert model.batches == [10]


def test_a_client_that_goes_while_it_is_scored_costs_no_more_than_the_chunk_that_has_begun(monkeypatch):
    queue, begun, go_on = WorkQueue(), threading.Event(), threading.Event()

    class Slow(Clock):
        def score(self, left, right):
            begun.set()
            go_on.wait()
            return super().score(left, right)

    model = Slow(0.0002)
    monkeypatch.setattr(work_queue, "time", model)

    async def ask():
        gone = asyncio.ensure_future(queue.score(model, ["q"] * CHUNK * 4, ["x"] * CHUNK * 4))
        await asyncio.to_thread(begun.wait)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        go_on.set()

    asyncio.run(ask())
    queue.close()
    assert model.batches == [CHUNK]


def test_a_panic_of_a_native_extension_does_not_end_the_only_thread_that_scores():
    class Panic(BaseException):
        pass

    class Panics(Clock):
        def score(self, left, right):
            raise Panic

    def panics():
        raise Panic

    async def ask(queue):
        with pytest.raises(Panic):
            await queue.score(Panics(0.0), ["q"], ["x"])
        with pytest.raises(Panic):
            await queue.run(panics)
        return await asyncio.wait_for(queue.score(Clock(0.0), ["q"], ["xy"]), 10)

    queue = WorkQueue()
    assert asyncio.run(ask(queue)).scores.tolist() == [2.0]
    queue.close()
