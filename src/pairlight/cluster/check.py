"""Checks a cluster: what every node has, whether versions agree, and a tiny job of each kind."""

import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pairlight import __version__
from pairlight.batch.encode import EncodeJob
from pairlight.batch.index import IndexJob
from pairlight.batch.job import BlockJob, run_job
from pairlight.batch.score import ScoreJob
from pairlight.cluster.blocks import ray_runner
from pairlight.cluster.connect import connected
from pairlight.cluster.executor import RayExecutor
from pairlight.cluster.train import ClusterTraining, train_on_cluster
from pairlight.cluster.tune import ray_search
from pairlight.core.progress import ProgressReporter
from pairlight.data.blocks import plan_blocks
from pairlight.data.columns import Column, TableColumns
from pairlight.data.pair_blocks import write_pair_blocks
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits
from pairlight.experiments.executor import Failed
from pairlight.experiments.spec import RunSpec
from pairlight.experiments.tune import tune

PAIRS = Pairs.of(
    [f"question {i // 2}" for i in range(8)],
    [f"{'answer' if i % 2 else 'noise'} {i}" for i in range(8)],
    [0.0, 1.0] * 4,
)
MODEL, SETTINGS = "mv-lstm", {"hidden": 2, "dim": 2}
OPTIONS: dict[str, str | int] = {"vectors": "none", "epochs": 1}


@dataclass(frozen=True)
class NodeReport:
    """What a node has."""

    node: str
    cpus: float
    memory_gb: float
    pairlight: str
    python: str
    kernels: str  # the SIMD width of the native kernels, or none
    faults: tuple[str, ...] = ()  # what does not agree with this machine

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def check_cluster(address: str, shared: Path | None = None) -> tuple[list[NodeReport], dict[str, str]]:
    """A report of every node, and what became of each kind of job; nothing where it went well.

    Jobs write to the folder `shared`, which all nodes must reach; without one, to a temporary folder of this machine.
    """
    with connected(address) as ray, tempfile.TemporaryDirectory(dir=shared) as folder:
        reports = [_report(ray, node) for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        return reports, {name: _try(job, address, Path(folder).resolve() / name) for name, job in JOBS.items()}


def _report(ray: Any, node: dict[str, Any]) -> NodeReport:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    found = ray.get(ray.remote(num_cpus=1, scheduling_strategy=place)(_versions).remote())
    faults = [f"{name} {found[name]}, not {own}" for name, own in _versions().items() if found[name] != own]
    resources = node["Resources"]
    memory = round(resources.get("memory", 0) / 1e9, 1)
    return NodeReport(node["NodeManagerAddress"], resources["CPU"], memory, **found, faults=tuple(faults))


def _versions() -> dict[str, str]:
    from pairlight.kernels.native.library import status

    found = status()
    width = str(found.width) if found.native else "none"
    return {"pairlight": __version__, "python": platform.python_version(), "kernels": width}


def _try(job: Callable[[str, Path], None], address: str, folder: Path) -> str:
    folder.mkdir()
    try:
        job(address, folder)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _process(address: str, folder: Path, job: BlockJob, columns: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = folder / "in.parquet"
    pq.write_table(pa.table(dict.fromkeys(columns, PAIRS.texts)), source)
    blocks = plan_blocks(str(source), TableColumns([Column(name, name) for name in columns]))
    run_job(job, blocks, ray_runner(address), ProgressReporter())


def _score(address: str, folder: Path) -> None:
    _process(address, folder, ScoreJob("qa-small", str(folder / "out")), ["left", "right"])


def _encode(address: str, folder: Path) -> None:
    _process(address, folder, EncodeJob("qa-small", str(folder / "out")), ["text"])


def _index(address: str, folder: Path) -> None:
    _process(address, folder, IndexJob(str(folder / "out"), "vectors", "en", "text", "id", None), ["text", "id"])


def _compare(address: str, folder: Path) -> None:
    (run,) = RayExecutor(address).submit([RunSpec("bm25", 1, {}, {})], _count, {"train": PAIRS})
    if isinstance(run, Failed):
        raise run.error


def _count(spec: RunSpec, splits: Splits) -> int:
    return len(splits["train"])


def _tune(address: str, folder: Path) -> None:
    choices = {name: [str(value)] for name, value in SETTINGS.items()}
    search = ray_search(address, folder)
    tune(PAIRS, PAIRS, MODEL, folder, trials=1, choices=choices, options=OPTIONS, search=search)


def _train(address: str, folder: Path) -> None:
    source = write_pair_blocks(PAIRS, str(folder))
    training = ClusterTraining(MODEL, SETTINGS, OPTIONS, None, source, PAIRS, str(folder))
    train_on_cluster(training, address, workers=1, resume=False, out=folder / "trained")


JOBS = {"score": _score, "encode": _encode, "index": _index, "compare": _compare, "tune": _tune, "train": _train}
