"""Settings of the whole process, made by commands that train or score."""

import os

from pairlight.core.errors import InputError
from pairlight.core.memory import disable_malloc_trim


def configure_process(threads: int | None) -> None:
    """Set the number of threads, and keep freed memory in this process for the next batch."""
    disable_malloc_trim()
    if threads is not None:
        check_cores("threads", threads)
        from pairlight.layers.backends import set_threads

        set_threads(threads)


def check_cores(option: str, number: int) -> None:
    """Raise InputError if an option asks for more cores than the machine has."""
    cores = os.cpu_count() or 1
    if number > cores:
        raise InputError(
            f"{option}={number} is out of range: this machine has {cores} cores, so use at most {cores}.", option=option
        )
