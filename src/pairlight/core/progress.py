"""Progress of long work: the callback that functions take, and bars and lines on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

Progress = Callable[[float], None]  # called with the share done, from 0 to 1


@dataclass(frozen=True)
class TrainingProgress:
    """Where training is, after every step."""

    epoch: int
    epochs: int
    done: float  # share of this epoch
    loss: float  # mean of this epoch so far
    metric: float | None  # dev metric of the last finished epoch
    best: float | None
    pairs_per_second: float


@dataclass
class ProgressReporter:
    """Prints lines and moves bars; silent without a bar."""

    bar: "Bar | None" = None
    tasks: "dict[str, TaskID]" = field(default_factory=dict)

    def say(self, line: str) -> None:
        if self.bar is not None:
            self.bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

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
            details.append(f"dev {at.metric:.3f} best {at.best:.3f}")
        details.append(f"{at.pairs_per_second:,.0f} pairs/s")
        done = (at.epoch - 1 + at.done) / at.epochs
        self.update("Training", done, " ".join(details), f"{at.epoch}/{at.epochs}")


@contextmanager
def progress_reporter(enabled: bool = True) -> Iterator[ProgressReporter]:
    """A reporter whose bars are shown for the duration of the block."""
    if not enabled:
        yield ProgressReporter()
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
    with Bar(*columns, console=Console(stderr=True)) as bar:
        yield ProgressReporter(bar)
