"""Several Ray nodes on one machine, each a set of real processes that a test can take away."""

import os
import subprocess
import sys
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
    monkeypatch.setenv("RAY_worker_niceness", "0")  # by default, workers wait for everything else on the machine
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


def training_processes(node) -> list[int]:
    """The processes of a node that train."""
    return worker_processes(node, b"RayTrainWorker")


def worker_processes(node, title: bytes) -> list[int]:
    """The processes of a node with this in the title that Ray gives them by what they do."""
    (raylet,) = (process.process.pid for process in node.all_processes["raylet"])
    found = []
    for path in Path("/proc").iterdir():
        try:
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == raylet and title in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def pairlight(*arguments: object) -> str:
    """Run a command, which must succeed, and return what it prints."""
    done = subprocess.run([sys.executable, "-m", "pairlight", *map(str, arguments)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


def is_in_a_block(node, attempts: Path, done: Path) -> bool:
    """Whether a process of the node has begun a block that is not finished; `attempts` is what `Slow` jobs note."""
    processes = worker_processes(node, b"ray::")
    begun = (path.name.split("-") for path in attempts.iterdir())
    return any(int(pid) in processes and not (done / f"part-{int(at):06}.json").exists() for at, _, pid in begun)


class SmallDisk:
    """A file system in memory that holds a few files; only root can make one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.mount("-t", "tmpfs", "-o", "size=64k", "tmpfs")

    def mount(self, *arguments: str) -> None:
        done = subprocess.run(["mount", *arguments, str(self.folder)], capture_output=True)
        if done.returncode:
            pytest.skip("a file system cannot be mounted here")

    def enlarge(self) -> None:
        self.mount("-o", "remount,size=10m")


@pytest.fixture
def small_disk(tmp_path) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path / "disk")
    yield made
    subprocess.run(["umount", str(made.folder)], check=True)
