"""Trains a model on several workers with Ray Train: DistributedDataParallel, a block of pairs for each at a time."""

import logging
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairlight.cluster.connect import connected
from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter, progress_reporter
from pairlight.core.records import MAX_BYTES, decode_file, decode_record, encode_record
from pairlight.core.storage import delete_file, delete_folder, exists, join, names_in, open_file, write_file
from pairlight.data.pair_blocks import PairBlocks
from pairlight.data.pairs import Pairs

RETRIES = 5  # of a training that lost a worker
MODEL, STATE, ERROR = "model", "ray", "error.json"
_ERROR_FORMAT = 1


@dataclass(frozen=True)
class _Error:
    """An InputError of a worker, which the driver reports."""

    message: str
    option: str | None


@dataclass(frozen=True)
class ClusterTraining:
    """A training that all workers run; `folder`, which all of them reach, has the checkpoint and the result."""

    model: str
    settings: Mapping[str, Any]
    options: Mapping[str, Any]
    init: str | None  # a model folder, a name, or auto
    source: PairBlocks
    dev: Pairs | None
    folder: str
    device: str = "cpu"


def train_on_cluster(training: ClusterTraining, address: str, workers: int, resume: bool, out: Path) -> None:
    """Train with this number of workers, and write the files of the trained model to `out`.

    A worker or node that is lost is replaced, and training continues from the last checkpoint; with `resume`, so does
    a training that was stopped, also with another number of workers.
    """
    from pairlight.training.loop import CHECKPOINT

    folder = training.folder
    if not resume:
        delete_file(join(folder, CHECKPOINT))
    elif not exists(join(folder, CHECKPOINT)):
        raise InputError(f"There is no checkpoint to resume in {folder}: start a new run.", option="resume")
    for name in (MODEL, STATE):
        delete_folder(join(folder, name))
    delete_file(join(folder, ERROR))
    with connected(address) as ray:
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < workers:
            raise InputError(
                f"{workers} workers need as many CPUs, and the cluster has {cpus}: add nodes, or use fewer workers.",
                option="workers",
            )
        os.environ.setdefault("RAY_TRAIN_ENABLE_PRINT_PATCH", "0")  # it prints every line twice
        from ray.train import FailureConfig, LoggingConfig, RunConfig, ScalingConfig, TrainingFailedError
        from ray.train.torch import TorchConfig, TorchTrainer

        logging.getLogger("ray.train").setLevel(logging.ERROR)
        gpu = training.device != "cpu"
        storage = join(folder, STATE) if "://" in folder else str(Path(folder, STATE).resolve())
        settings: dict[str, Any] = {
            "storage_path": storage,
            "name": "train",
            "failure_config": FailureConfig(max_failures=RETRIES),
            "logging_config": LoggingConfig(log_level="CRITICAL"),  # the first worker prints where training is
        }

        class Trainer(TorchTrainer):
            """A trainer without Ray's guard of the CPUs that a training holds.

            The guard looks at Ray's dashboard to see that a training has ended. Where there is no dashboard it warns
            every few seconds, and stays as a process of 200 MB when the driver is killed. Ray frees these CPUs itself
            when the driver ends.
            """

            def _create_default_callbacks(self) -> list[Any]:
                ray_trainer: Any = super()
                found = ray_trainer._create_default_callbacks()
                return [each for each in found if type(each).__name__ != "PlacementGroupCleanerCallback"]

        trainer = Trainer(
            _work,
            train_loop_config={"training": training},
            torch_config=TorchConfig(backend="nccl" if gpu else "gloo"),
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpu, resources_per_worker={"CPU": 1}),
            run_config=RunConfig(**settings),
        )
        try:
            trainer.fit()
        except TrainingFailedError as error:
            raise _reason(folder, str(error)) from error
        if exists(join(folder, ERROR)):
            raise _reason(folder)
    for name in names_in(join(folder, MODEL)):
        with open_file(join(folder, MODEL, name)) as file, write_file(str(out / name)) as copy:
            copy.write(file.read())
    for name in (MODEL, STATE):
        delete_folder(join(folder, name))


def _reason(folder: str, error: str = "") -> InputError:
    if exists(join(folder, ERROR)):
        path, fix = Path(folder, ERROR), "train again"
        with open_file(join(folder, ERROR)) as file:
            values = decode_record(file.read(MAX_BYTES), path, _ERROR_FORMAT, fix)
        found = decode_file(path, _Error, values, fix)
        return InputError(found.message, option=found.option)
    return InputError(
        f"Training lost its workers {RETRIES + 1} times ({error.strip().splitlines()[0]}): look for the reason on "
        "the nodes, and continue from the last checkpoint.",
        option="resume",
    )


def _work(config: dict[str, Any]) -> None:
    """What every worker runs, and runs again from the checkpoint after one was lost."""
    import torch

    from pairlight.inference.model_folder import load_model, save_model
    from pairlight.training.loop import CHECKPOINT
    from pairlight.training.trainer import train
    from pairlight.training.workers import DistributedWorkers

    training: ClusterTraining = config["training"]
    folder = training.folder
    torch.set_num_threads(1)
    start = load_model(training.init, "torch") if training.init and training.init != "auto" else None
    workers = DistributedWorkers()
    if exists(join(folder, ERROR)):  # bad input stays bad: all workers end, and the driver reports it
        return
    # The first worker decides for all: a checkpoint may appear between two looks.
    resume = workers.gather(exists(join(folder, CHECKPOINT)))[0]
    try:
        with progress_reporter(workers.rank == 0, terminal=False) as reporter:
            run = train(
                training.model,
                training.source,
                training.dev,
                settings=training.settings,
                options=training.options,
                init="auto" if training.init == "auto" else start,
                device=training.device,
                folder=folder,
                resume=resume,
                baseline=workers.rank == 0,
                reporter=reporter if workers.rank == 0 else ProgressReporter(),
                workers=workers,
            )
            for note in run.notes:
                reporter.say(f"Note: {note}")
    except InputError as error:
        with write_file(join(folder, ERROR)) as file:
            file.write(encode_record({"message": str(error), "option": error.option}, _ERROR_FORMAT))
        raise
    if workers.rank == 0:
        with tempfile.TemporaryDirectory() as local:
            save_model(Path(local), run.trained)
            for path in sorted(Path(local).iterdir()):
                with write_file(join(folder, MODEL, path.name)) as file:
                    file.write(path.read_bytes())
    workers.gather(None)  # no worker ends before the result is there
