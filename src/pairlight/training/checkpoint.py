"""Checkpoints: the state of training after an epoch, in one safetensors file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write
from pairlight.models.base import PairModel
from pairlight.training.score_scale import ScoreScale

State = dict[str, Tensor]


def save_checkpoint(
    path: Path,
    model: PairModel,
    best: State,
    scale: ScoreScale | None,
    optimizer: torch.optim.Optimizer,
    record: dict[str, Any],
) -> None:
    """Write the weights, the best so far, the scale of the scores, the optimizer's state and the record of the run."""
    state = optimizer.state_dict()["state"]
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    if scale is not None:
        tensors |= {f"scale.{name}": tensor for name, tensor in scale.state_dict().items()}
    tensors |= {f"optimizer.{i}.{key}": tensor for i, kept in state.items() for key, tensor in kept.items()}
    content = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path) as file:
        file.write(save(content, {"record": json.dumps(record)}))


def read_record(path: Path) -> dict[str, Any]:
    """The record of the run."""
    with _clear_errors(path), safe_open(path, "pt") as file:
        record: dict[str, Any] = json.loads(file.metadata()["record"])
        return record


def load_checkpoint(path: Path, model: PairModel, scale: ScoreScale | None, optimizer: torch.optim.Optimizer) -> State:
    """Restore the model, the scale of the scores and the optimizer; returns the best weights."""
    parts: dict[str, State] = {"model": {}, "best": {}, "scale": {}, "optimizer": {}}
    with _clear_errors(path):
        with safe_open(path, "pt") as file:
            for key in file.keys():  # noqa: SIM118 - a handle, not a dict
                kind, _, name = key.partition(".")
                parts[kind][name] = file.get_tensor(key)
        model.load_state_dict(parts["model"])
        if scale is not None:
            scale.load_state_dict(parts["scale"])
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts["optimizer"].items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return parts["best"]


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} cannot be resumed from ({error}): start again.", option="overwrite") from None
