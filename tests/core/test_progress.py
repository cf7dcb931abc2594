"""Progress is shown on standard error, as bars in a terminal and as lines elsewhere, or not at all."""

import sys
import time

import pytest

from pairlight.core.progress import ProgressReporter, TrainingProgress, progress_reporter

AT = TrainingProgress(epoch=2, epochs=4, done=0.5, loss=0.25, metric=0.7, best=0.8, pairs_per_second=1234.0)


def test_a_reporter_without_a_bar_is_silent(capsys):
    with progress_reporter(enabled=False) as reporter:
        reporter.say("hello")
        reporter.update("Reading", 0.5)
        reporter.on_step(AT)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("terminal", [True, False])
def test_lines_are_printed_to_standard_error_as_they_are(capsys, terminal):
    with progress_reporter(terminal=terminal) as reporter:
        reporter.say("a [bold] line")
    out, err = capsys.readouterr()
    assert out == ""
    assert "a [bold] line" in err


def test_a_task_has_one_bar_that_moves():
    with progress_reporter(terminal=True) as reporter:
        reporter.update("Reading", 0.25)
        reporter.update("Reading", 0.5, "details")
        assert reporter.bar is not None
        (task,) = reporter.bar.tasks
        assert (task.completed, task.fields["details"], task.description) == (0.5, "details", "Reading")


@pytest.mark.parametrize(
    ("metric", "shown"),
    [
        (0.7, "loss 0.250, last dev (epoch 1) 0.700, best 0.800, 1,234 pairs/s"),
        (None, "loss 0.250, 10 pairs/s"),
    ],
)
def test_a_training_step_shows_its_loss_and_the_metric_with_the_epoch_it_belongs_to(metric, shown):
    with progress_reporter(terminal=True) as reporter:
        reporter.on_step(AT if metric else TrainingProgress(1, 4, 0.5, 0.25, None, None, 10.0))
        assert reporter.bar is not None
        (task,) = reporter.bar.tasks
        assert task.fields["details"] == shown
        assert task.description == ("Training 2/4" if metric else "Training 1/4")
        assert task.completed == ((2 - 1 + 0.5) / 4 if metric else 0.5 / 4)


def test_a_reporter_can_be_made_without_a_context():
    ProgressReporter().say("nothing happens")


def lines_of(capsys, monkeypatch, interval: float, work) -> list[str]:
    """What is printed during this work, where standard error is not a terminal."""
    monkeypatch.setattr("pairlight.core.progress.INTERVAL", interval)
    with progress_reporter() as reporter:
        work(reporter)
    return capsys.readouterr().err.splitlines()


def test_redirected_output_has_no_bars_and_a_line_after_every_interval(capsys, monkeypatch):
    def work(reporter):
        for step in range(10):
            reporter.update("Reading", step / 10, "some details")
        time.sleep(0.5)

    lines = lines_of(capsys, monkeypatch, 0.1, work)
    assert 2 <= len(lines) <= 5
    assert set(lines) <= {"Reading 90%, some details, 0 s", "Reading 90%, some details, 1 s"}


def test_work_that_reports_nothing_still_prints_lines(capsys, monkeypatch):
    lines = lines_of(capsys, monkeypatch, 0.1, lambda reporter: time.sleep(0.5))
    assert lines[0] == "Working, 0 s"


def test_no_line_is_added_while_others_are_printed(capsys, monkeypatch):
    def work(reporter):
        for _ in range(20):
            reporter.say("a line")
            time.sleep(0.01)

    assert lines_of(capsys, monkeypatch, 5.0, work) == ["a line"] * 20


def test_training_steps_are_lines_too(capsys, monkeypatch):
    def work(reporter):
        reporter.on_step(AT)
        time.sleep(0.5)

    assert lines_of(capsys, monkeypatch, 0.1, work)[0].startswith("Training 2/4 38%, loss 0.250, ")


def test_a_notebook_has_bars(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with progress_reporter() as reporter:
        assert reporter.bar is not None


def test_the_interval_is_at_most_30_seconds():
    from pairlight.core.progress import INTERVAL

    assert INTERVAL <= 30


def test_a_closed_standard_error_ends_the_lines_and_not_the_work(monkeypatch):
    class Closed:
        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

        def isatty(self):
            return False

    monkeypatch.setattr("pairlight.core.progress.INTERVAL", 0.01)
    monkeypatch.setattr(sys, "stderr", Closed())
    with progress_reporter():
        time.sleep(0.1)
