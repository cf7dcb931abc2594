"""Several Ray nodes on one machine, each a set of real processes that a test can take away."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

OBJECT_STORE = 80_000_000  # bytes of a node, the least that Ray accepts with some room
TIMEOUT = 120.0  # seconds


class Nodes:
    """A head without CPUs, which drivers connect to, and worker nodes."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        arguments = {"num_cpus": 0, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
        # Ray would set signal handlers for every node, which only the main thread can: tests add nodes in others too.
        self.cluster = Cluster(initialize_head=True, head_node_args=arguments, shutdown_at_exit=False)
        self.address = self.cluster.address

    def add(self, cpus: int = 1):
        return self.cluster.add_node(num_cpus=cpus, object_store_memory=OBJECT_STORE)  # waits until it is there

    def kill(self, node) -> None:
        """Kill all processes of a node at once."""
        self.cluster.remove_node(node, allow_graceful=False)


@pytest.fixture
def nodes(monkeypatch) -> Iterator[Nodes]:
    # Workers find the modules of tests, as this process does.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray = pytest.importorskip("ray", reason="the extra cluster is not installed")
    made = Nodes()
    yield made
    ray.shutdown()
    made.cluster.shutdown()


@pytest.fixture
def when() -> Callable[[Callable[[], bool], Callable[[], object]], threading.Thread]:
    """Do something in a thread as soon as a condition holds: `when(condition, action).join()`."""

    def start(condition: Callable[[], bool], action: Callable[[], object]) -> threading.Thread:
        def watch() -> None:
            deadline = time.monotonic() + TIMEOUT
            while not condition() and time.monotonic() < deadline:
                time.sleep(0.05)
            action()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        return thread

    return start


def files_in(folder: Path) -> int:
    return len(os.listdir(folder)) if folder.is_dir() else 0
