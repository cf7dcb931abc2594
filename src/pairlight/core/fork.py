"""Makes processes that are forked from this one work: their threads are gone, and PyTorch would wait for them."""

import os
import sys


def work_after_fork() -> None:
    """Let every process that is forked from now on compute with one thread; it may set another number after that."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_use_one_thread)


def _use_one_thread() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # otherwise the package prints a warning
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
