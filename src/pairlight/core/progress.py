"""Progress of long work: the callback that functions take, and bars or lines on standard error."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pairlight.core.terminal import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

Progress = Callable[[float], None]  # called with the share done, from 0 to 1

INTERVAL = 20.0  # seconds between lines where standard error is not a terminal


@dataclass(frozen=True)
class TrainingProgress:
    """Where training is, after every step."""

    epoch: int
    epochs: int
    done: float  # share of this epoch
    loss: float  # mean of this epoch so far
    metric: float | None  # dev metric of the epoch before this one, the last that is finished; epoch 0 is the start
    best: float | None
    pairs_per_second: float


@dataclass
class ProgressReporter:
    """Prints lines and moves bars; silent without a bar."""

    bar: "Bar | None" = None
    tasks: "dict[str, TaskID]" = field(default_factory=dict)

    def say(self, line: str) -> None:
        """Print a line, without control characters."""
        if self.bar is not None:
            self.bar.console.print(printable(line), highlight=False, markup=False, soft_wrap=True)

    def update(self, task: str, done: float, details: str = "", step: str = "") -> None:
        """Move the bar of a task; `done` is the share from 0 to 1."""
        if self.bar is None:
            return
        if task not in self.tasks:
            self.tasks[task] = self.bar.add_task(task, total=1.0, details="")
        self.bar.update(self.tasks[task], completed=done, details=details, description=f"{task} {step}".rstrip())

    def on_step(self, at: TrainingProgress) -> None:
        """Show where training is."""
        details = [f"loss {at.loss:.3f}"]
        if at.metric is not None:
            details.append(f"last dev (epoch {at.epoch - 1}) {at.metric:.3f}, best {at.best:.3f}")
        details.append(f"{at.pairs_per_second:,.0f} pairs/s")
        done = (at.epoch - 1 + at.done) / at.epochs
        self.update("Training", done, ", ".join(details), f"{at.epoch}/{at.epochs}")


class LineReporter(ProgressReporter):
    """Prints plain lines, for output that is redirected: where each task is, if nothing was printed for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.started = self.printed = time.monotonic()
        self.latest = "Working"
        self.lock = threading.Lock()
        self.stopped = threading.Event()

    def say(self, line: str) -> None:
        with self.lock:
            self.printed = time.monotonic()
            print(printable(line), file=sys.stderr, flush=True)

    def update(self, task: str, done: float, details: str = "", step: str = "") -> None:
        share = f" {done:.0%}" if done else ""
        self.latest = f"{task} {step}".rstrip() + share + (f", {details}" if details else "")

    def watch(self) -> None:
        """Print the latest state after every interval without a line; runs in a thread of its own, until stopped."""
        while not self.stopped.wait(max(0.0, self.printed + INTERVAL - time.monotonic())):
            now = time.monotonic()
            if now - self.printed < INTERVAL:
                continue
            try:
                self.say(f"{self.latest}, {now - self.started:,.0f} s")
            except (OSError, ValueError):  # standard error was closed
                return


def _shows_bars() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules  # a terminal, or a notebook


@contextmanager
def progress_reporter(enabled: bool = True, terminal: bool | None = None) -> Iterator[ProgressReporter]:
    """A reporter for the duration of the block: with bars if standard error is a terminal, else with lines."""
    if not enabled:
        yield ProgressReporter()
        return
    if not (_shows_bars() if terminal is None else terminal):
        lines = LineReporter()
        watcher = threading.Thread(target=lines.watch, daemon=True)
        watcher.start()
        try:
            yield lines
        finally:
            lines.stopped.set()
            watcher.join()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[details]}"),
        TimeRemainingColumn(compact=True),
    )
    with Bar(*columns, console=Console(stderr=True, force_terminal=terminal)) as bar:
        yield ProgressReporter(bar)
