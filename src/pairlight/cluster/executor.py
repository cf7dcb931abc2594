"""An `Executor` on Ray: every run is a task of its own, which is repeated if its worker dies."""

from collections.abc import Iterator, Sequence
from typing import Any

from pairlight.cluster.connect import connected
from pairlight.core.errors import InputError
from pairlight.data.splits import Splits
from pairlight.experiments.executor import Completed, Failed, T, Work, run_spec
from pairlight.experiments.spec import RunSpec

RETRIES = 3  # of a run whose worker died


class RayExecutor:
    """Runs as many specifications at a time as the cluster has CPUs, each with one thread."""

    def __init__(self, address: str) -> None:
        self.address = address

    def submit(self, specs: Sequence[RunSpec], work: Work[T], splits: Splits) -> Iterator[Completed[T] | Failed]:
        with connected(self.address) as ray:
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_run)
            shared = ray.put(splits)
            running = {task.remote(spec, work, shared): spec for spec in specs}
            try:
                while running:
                    (done,), _ = ray.wait(list(running))
                    spec = running.pop(done)
                    try:
                        outcome = ray.get(done)
                    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
                        outcome = _killed(spec, error)
                    except ray.exceptions.OutOfMemoryError as error:
                        outcome = _killed(spec, error)
                    yield outcome
            finally:
                for each in running:
                    ray.cancel(each, force=True)


def _run(spec: RunSpec, work: Work[Any], splits: Splits) -> Completed[Any] | Failed:
    import torch

    torch.set_num_threads(1)
    return run_spec(spec, work, splits)


def _killed(spec: RunSpec, error: Exception) -> Failed:
    return Failed(
        spec,
        InputError(
            f"The workers that ran it died {RETRIES + 1} times ({type(error).__name__}), which usually means that "
            "memory ran out: use nodes with more memory, or a smaller model."
        ),
    )
