"""Progress is shown on standard error, or not at all."""

import pytest

from pairlight.core.progress import ProgressReporter, TrainingProgress, progress_reporter

AT = TrainingProgress(epoch=2, epochs=4, done=0.5, loss=0.25, metric=0.7, best=0.8, pairs_per_second=1234.0)


def test_a_reporter_without_a_bar_is_silent(capsys):
    with progress_reporter(enabled=False) as reporter:
        reporter.say("hello")
        reporter.update("Reading", 0.5)
        reporter.on_step(AT)
    assert capsys.readouterr() == ("", "")


def test_lines_are_printed_to_standard_error_as_they_are(capsys):
    with progress_reporter() as reporter:
        reporter.say("a [bold] line")
    out, err = capsys.readouterr()
    assert out == ""
    assert "a [bold] line" in err


def test_a_task_has_one_bar_that_moves():
    with progress_reporter() as reporter:
        reporter.update("Reading", 0.25)
        reporter.update("Reading", 0.5, "details")
        assert reporter.bar is not None
        (task,) = reporter.bar.tasks
        assert (task.completed, task.fields["details"], task.description) == (0.5, "details", "Reading")


@pytest.mark.parametrize(("metric", "shown"), [(0.7, "loss 0.250 dev 0.700 best 0.800 1,234 pairs/s"), (None, "loss")])
def test_a_training_step_shows_the_epoch_loss_and_metric(metric, shown):
    with progress_reporter() as reporter:
        reporter.on_step(AT if metric else TrainingProgress(1, 4, 0.5, 0.25, None, None, 10.0))
        assert reporter.bar is not None
        (task,) = reporter.bar.tasks
        assert task.fields["details"].startswith(shown)
        assert task.description == ("Training 2/4" if metric else "Training 1/4")
        assert task.completed == ((2 - 1 + 0.5) / 4 if metric else 0.5 / 4)


def test_a_reporter_can_be_made_without_a_context():
    ProgressReporter().say("nothing happens")
