"""Work functions for executor tests; worker processes import them by name."""

import os
import signal
import time
import warnings
from dataclasses import dataclass

from pairlight.core.errors import InputError
from pairlight.data.splits import Splits
from pairlight.experiments.records import Record
from pairlight.experiments.spec import RunSpec
from pairlight.training.loop import DivergedError


@dataclass(frozen=True)
class Answer(Record):
    model: str
    pairs: int
    process: int
    threads: int


def answer(spec: RunSpec, splits: Splits) -> Answer:
    """Sleep, warn or fail as the options say, and report what the process sees."""
    import torch

    time.sleep(float(spec.options.get("sleep", 0)))
    if "warn" in spec.options:
        warnings.warn(str(spec.options["warn"]), stacklevel=1)
        warnings.warn(str(spec.options["warn"]), stacklevel=1)
        warnings.warn("not for users", DeprecationWarning, stacklevel=1)
    match spec.options.get("fail"):
        case "input":
            raise InputError("k=0 is out of range.", option="k")
        case "diverge":
            raise DivergedError("loss", float("nan"), 1, 9.0)
        case "crash":
            raise ZeroDivisionError("a bug")
        case "unpicklable":
            raise OddError("a", "b")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    return Answer(spec.model, len(splits["train"]), os.getpid(), torch.get_num_threads())


class OddError(Exception):
    """An exception that cannot be unpickled."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)
