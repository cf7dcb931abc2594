"""Checkpoints: the state of training after an epoch, in one safetensors file with a checksum."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pairlight.core.records import RecordError, decode_file, parse_json
from pairlight.core.storage import local_copy, write_file
from pairlight.inference.history import History
from pairlight.inference.model_folder import DataSummary, Values
from pairlight.layers.layer import check_state
from pairlight.models.base import PairModel
from pairlight.training.score_scale import ScoreScale

State = dict[str, Tensor]

_FIX = "start again"
# What an optimizer remembers of a parameter, in addition to the number of steps: arrays of the parameter's shape.
_MOMENTS = {"adagrad": ("sum",), "adam": ("exp_avg", "exp_avg_sq"), "adamw": ("exp_avg", "exp_avg_sq")}


@dataclass(frozen=True)
class RunRecord:
    """What a run is: a checkpoint can only be resumed by the same run."""

    model: str
    options: Values
    data: dict[str, DataSummary]
    vocabulary: str  # its checksum, and that of its vectors
    settings: Values


@dataclass(frozen=True)
class Checkpoints:
    """Where the checkpoints of a run are written, and whether it continues from the one that is there."""

    folder: str  # or a URL
    run: RunRecord
    resume: bool = False


@dataclass
class Position:
    """How far an epoch is: the blocks that all workers have finished, and the sum of their losses."""

    blocks: int = 0
    loss: float = 0.0
    examples: int = 0


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read; its arrays are checked when it is restored."""

    path: Path
    run: RunRecord
    history: History
    position: Position
    tensors: State

    def restore(self, model: PairModel, scale: ScoreScale | None, optimizer: torch.optim.Optimizer) -> State:
        """Restore the model, the scale of the scores and the optimizer; returns the best weights."""
        own = {"model": model.state_dict(), "best": model.state_dict()}
        if scale is not None:
            own["scale"] = scale.state_dict()
        expected = {f"{part}.{name}": tensor for part, state in own.items() for name, tensor in state.items()}
        steps, moments = self._of_optimizer(optimizer)
        try:
            check_state(expected | steps | moments, self.tensors, types=True)
        except ValueError as error:
            raise RecordError.of(self.path, error, _FIX, "overwrite") from None
        parts = {part: {name: self.tensors[f"{part}.{name}"] for name in state} for part, state in own.items()}
        model.load_state_dict(parts["model"])
        if scale is not None:
            scale.load_state_dict(parts["scale"])
        state: dict[int, State] = {}
        for name in (*steps, *moments):
            _, number, key = name.split(".")
            state.setdefault(int(number), {})[key] = self.tensors[name]
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
        return parts["best"]

    def _of_optimizer(self, optimizer: torch.optim.Optimizer) -> tuple[State, State]:
        """The arrays that the optimizer must have: all of a parameter, or none if it never had a gradient."""
        moments = _MOMENTS[str(self.run.options["optimizer"])]
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        known = [(i, each) for i, each in enumerate(parameters) if f"optimizer.{i}.step" in self.tensors]
        steps = {f"optimizer.{i}.step": torch.zeros(()) for i, _ in known}
        return steps, {f"optimizer.{i}.{key}": each for i, each in known for key in moments}


def save_checkpoint(
    path: str,
    model: PairModel,
    best: State,
    scale: ScoreScale | None,
    optimizer: torch.optim.Optimizer,
    run: RunRecord,
    history: History,
    position: Position,
) -> None:
    """Write the weights, the best so far, the scale of the scores, the optimizer's state and the record of the run."""
    state = optimizer.state_dict()["state"]
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    if scale is not None:
        tensors |= {f"scale.{name}": tensor for name, tensor in scale.state_dict().items()}
    tensors |= {f"optimizer.{i}.{key}": tensor for i, kept in state.items() for key, tensor in kept.items()}
    content = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    record = json.dumps({"run": asdict(run), "history": history.as_dict(), "position": asdict(position)})
    with write_file(path) as file:
        file.write(save(content, {"record": record, "sha256": _digest(record, content)}))


def read_checkpoint(url: str | Path) -> Checkpoint:
    """Read a checkpoint and verify its checksum."""
    path = Path(url)  # as errors show it
    try:
        with local_copy(str(url)) as local, safe_open(local, "pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - a handle, not a dict
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise RecordError.of(path, str(error).splitlines()[0], _FIX, "overwrite") from None
    record = about.get("record", "")
    if about.get("sha256") != _digest(record, tensors):
        raise RecordError.of(path, "its checksum is wrong", _FIX, "overwrite")
    values = decode_file(path, _Contents, parse_json(record, path, _FIX), _FIX)
    return Checkpoint(path, values.run, values.history, values.position, tensors)


@dataclass(frozen=True)
class _Contents:
    run: RunRecord
    history: History
    position: Position


def _digest(record: str, tensors: Mapping[str, Tensor]) -> str:
    """A checksum of everything that is read from the file."""
    digest = hashlib.sha256(record.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"\0{name} {tensor.dtype} {list(tensor.shape)}\0".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data if tensor.numel() else b"")
    return digest.hexdigest()
