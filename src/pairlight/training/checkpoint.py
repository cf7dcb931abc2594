"""Where training stands after an epoch, in one file without pickle, so that it can go on as if never stopped."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write

State = dict[str, Tensor]


def save_checkpoint(
    path: Path, model: nn.Module, best: State, optimizer: torch.optim.Optimizer, record: dict[str, Any]
) -> None:
    """Write the weights, the best weights so far, the optimiser's memory and the record of the epochs."""
    state = optimizer.state_dict()["state"]
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    tensors |= {f"optimizer.{i}.{key}": tensor for i, kept in state.items() for key, tensor in kept.items()}
    with atomic_write(path) as file:
        file.write(
            save({n: t.detach().cpu().clone().contiguous() for n, t in tensors.items()}, {"record": json.dumps(record)})
        )


def record_of(path: Path) -> dict[str, Any]:
    """What was said of the training and of its epochs."""
    with _told(path), safe_open(path, "pt") as file:
        record: dict[str, Any] = json.loads(file.metadata()["record"])
        return record


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as error:
        raise InputError(f"{path} can't be resumed from ({error}): train anew with --overwrite.") from None


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> State:
    """Set the model and the optimiser to where they stood; give the best weights."""
    parts: dict[str, State] = {"model": {}, "best": {}, "optimizer": {}}
    with _told(path):
        with safe_open(path, "pt") as file:
            for key in file.keys():  # noqa: SIM118 - a handle, not a dict
                kind, _, name = key.partition(".")
                parts[kind][name] = file.get_tensor(key)
        model.load_state_dict(parts["model"])
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in parts["optimizer"].items():
        number, _, key = name.partition(".")
        state.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return parts["best"]
