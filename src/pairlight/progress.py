"""What is going on, on standard error: a bar while it runs, a line for what is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from pairlight.training.fit import Moment


@dataclass
class Show:
    """Tells the user; silent where there is no bar."""

    bar: Progress | None
    tasks: dict[str, TaskID] = field(default_factory=dict)

    def say(self, line: str) -> None:
        if self.bar is not None:
            self.bar.console.print(line, highlight=False, markup=False)

    def share(self, what: str, done: float, details: str = "", step: str = "") -> None:
        """How far along a piece of work is, from 0 to 1."""
        if self.bar is None:
            return
        if what not in self.tasks:
            self.tasks[what] = self.bar.add_task(what, total=1.0, details="")
        self.bar.update(self.tasks[what], completed=done, details=details, description=f"{what} {step}".rstrip())

    def moment(self, moment: "Moment") -> None:
        """Where training is."""
        details = [f"loss {moment.loss:.3f}"]
        if moment.metric is not None:
            details.append(f"dev {moment.metric:.3f} best {moment.best:.3f}")
        details.append(f"{moment.pairs_per_second:,.0f} pairs/s")
        done = (moment.epoch - 1 + moment.done) / moment.epochs
        self.share("Training", done, " ".join(details), f"{moment.epoch}/{moment.epochs}")


@contextmanager
def showing(on: bool = True) -> Iterator[Show]:
    """Bars for the time of the block, and what was said above them."""
    if not on:
        yield Show(None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[details]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield Show(bar)
