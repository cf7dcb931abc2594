"""Settings of the whole process, made by commands that train or score."""

from pairlight.core.memory import disable_malloc_trim


def configure_process(threads: int | None) -> None:
    """Set the number of threads, and keep freed memory in this process for the next batch."""
    disable_malloc_trim()
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
