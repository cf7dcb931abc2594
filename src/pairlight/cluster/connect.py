"""Connects to a Ray cluster, or starts a local one, and turns Ray's errors into ours."""

import logging
import os
import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.core.errors import InputError
from pairlight.inference.ready_made import resolve_model

if TYPE_CHECKING:
    from types import ModuleType

AUTO = "auto"
OBJECT_STORE = 200_000_000  # bytes of a local cluster: blocks are read and written by the workers themselves

CONNECT_SECONDS = 10.0

Files = dict[str, bytes]


@contextmanager
def connected(address: str) -> "Iterator[ModuleType]":
    """Ray, connected for the duration of the block; `auto` is the cluster that runs here, or a local one."""
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray would otherwise hide GPUs from workers that ask for none, and warns that it will stop doing so.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_task_oom_retries", "3")  # for ever by default
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # DDP warns of parameters that are always used
        import ray
    except ImportError:
        raise InputError("A cluster needs the package ray: pip install 'pairlight[cluster]'.") from None
    is_ours = not ray.is_initialized()  # otherwise the program that calls us is connected
    with warnings.catch_warnings(), _our_errors(ray):
        warnings.simplefilter("ignore")  # those of Ray are for its developers
        if is_ours:
            _init(ray, address)
        try:
            yield ray
        finally:
            if is_ours:
                ray.shutdown()


def _init(ray: "ModuleType", address: str) -> None:
    quiet: dict[str, Any] = {"logging_level": logging.ERROR}
    found = address if address != AUTO else os.environ.get("RAY_ADDRESS") or _started_here()
    if found is None:
        os.environ.setdefault("RAY_worker_niceness", "0")  # by default, workers wait for everything else on the machine
        ray.init("local", include_dashboard=False, object_store_memory=OBJECT_STORE, **quiet)
        return
    try:
        if not _answers(found):  # Ray itself would wait for minutes
            raise ConnectionError("nothing answers there")
        ray.init(address=found, **quiet)
    except ConnectionError as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"There is no Ray cluster at {found} ({reason}): start one with `ray start --head`, or use auto.",
            option="cluster",
        ) from None


def _started_here() -> str | None:
    """The address of the cluster that `ray start` has started on this machine, if it still runs."""
    note = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray", "ray_current_cluster")
    address = note.read_text().strip() if note.is_file() else ""
    return address if address and _answers(address) else None


def _answers(address: str) -> bool:
    """Whether something listens at host:port; other kinds of addresses are left to Ray."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


@contextmanager
def _our_errors(ray: "ModuleType") -> Iterator[None]:
    """Raise an error of Ray as one line that says what to do."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, InputError):
            raise InputError(str(error.cause), option=error.cause.option) from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"The cluster could not finish ({type(error).__name__}: {reason}). What is finished is kept: run the same "
            "command again to continue."
        ) from error


def model_files(model: str) -> Files:
    """The files of a model folder, to send them to nodes that do not share a disk with this one."""
    folder = resolve_model(model)
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name.as_posix(): path.read_bytes() for name, path in found.items() if "training" not in name.parts}


def unpack_model(files: Files, folder: Path) -> str:
    """Write the files of a model into a folder of this node."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return str(folder)
