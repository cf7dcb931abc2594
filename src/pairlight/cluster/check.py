"""Checks a cluster: what every node has, whether versions agree, and a tiny job."""

import platform
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pairlight import __version__
from pairlight.cluster.connect import connected
from pairlight.cluster.executor import RayExecutor
from pairlight.data.pairs import Pairs
from pairlight.data.splits import Splits
from pairlight.experiments.executor import Completed
from pairlight.experiments.spec import RunSpec


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


def check_cluster(address: str) -> tuple[list[NodeReport], list[str]]:
    """A report of every node, and the faults of jobs that were tried."""
    with connected(address) as ray:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        reports = []
        for node in ray.nodes():
            resources = node["Resources"]
            if not node["Alive"] or not resources.get("CPU"):
                continue
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            found = ray.get(ray.remote(num_cpus=1, scheduling_strategy=place)(_versions).remote())
            faults = [f"{name} {found[name]}, not {own}" for name, own in _versions().items() if found[name] != own]
            reports.append(
                NodeReport(
                    node["NodeManagerAddress"],
                    resources["CPU"],
                    round(resources.get("memory", 0) / 1e9, 1),
                    **found,
                    faults=tuple(faults),
                )
            )
        return reports, [fault for fault in (_try_blocks(address), _try_runs(address)) if fault]


def _versions() -> dict[str, str]:
    from pairlight.kernels.native.library import status

    found = status()
    width = str(found.width) if found.native else "none"
    return {"pairlight": __version__, "python": platform.python_version(), "kernels": width}


def _try_blocks(address: str) -> str | None:
    """Score a few pairs, as `pairlight score` does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pairlight.batch.job import run_job
    from pairlight.batch.score import ScoreJob
    from pairlight.cluster.blocks import ray_runner
    from pairlight.core.progress import ProgressReporter
    from pairlight.data.blocks import plan_blocks
    from pairlight.data.columns import Column, TableColumns

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "pairs.parquet")
        pq.write_table(pa.table({"left": ["where is my parcel"] * 3, "right": ["it is here", "no", "soon"]}), source)
        blocks = plan_blocks(str(source), TableColumns([Column("left", "left"), Column("right", "right")]))
        try:
            run_job(ScoreJob("qa-small", str(Path(folder, "out"))), blocks, ray_runner(address), ProgressReporter())
        except (OSError, ValueError) as error:
            return f"Scoring failed: {error} Folders must be shared by all nodes, or URLs."
    return None


def _try_runs(address: str) -> str | None:
    """Run an experiment that does nothing, as `pairlight compare` does."""
    pairs = Pairs.of(["a"], ["b"], [1.0])
    (run,) = RayExecutor(address).submit([RunSpec("bm25", 1, {}, {})], _count, {"train": pairs})
    return None if isinstance(run, Completed) else f"An experiment failed: {run.error}"


def _count(spec: RunSpec, splits: Splits) -> int:
    return len(splits["train"])
