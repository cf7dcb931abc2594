"""`pairlight calibrate`: fit probabilities, the threshold and the scale of graded labels on labeled pairs."""

from typing import Annotated

import typer

from pairlight.cli.options import Columns, Json, Model, Threads, with_columns
from pairlight.cli.output import metrics_line, print_json
from pairlight.cli.process import configure_process
from pairlight.core.progress import progress_reporter


@with_columns(folder=True)
def calibrate(
    model: Model,
    dev: Annotated[str, typer.Argument(help="File of labeled pairs, or a named dataset, whose dev split is used.")],
    threads: Threads = None,
    as_json: Json = False,
    *,
    columns: Columns,
) -> None:
    """Calibrate a saved model on labeled pairs.

    Probabilities, the threshold between positive and negative, and the scale of graded labels are fitted on the pairs
    and written to the model folder. Calibrate on pairs that are not used for testing.
    """
    from pairlight.inference.model_folder import save_calibration
    from pairlight.matcher import Matcher

    columns.check(dev)
    configure_process(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as reporter:
        splits = columns.read_evaluation(dev, reporter)
        pairs = splits.get("dev", splits["train"])  # a file has no splits
        reporter.update("Calibrating", 0.0)
        matcher.calibrate(pairs)
        result = matcher.evaluate(pairs, task="pairs")
    calibration = matcher.trained.calibration
    if calibration is None:  # calibrate has set it
        return
    save_calibration(model, calibration)
    if as_json:
        print_json(
            {"model": str(model), "calibration": calibration.as_dict(), "pairs": len(pairs), "metrics": result.metrics}
        )
        return
    if calibration.threshold is not None:
        print(f"Threshold {calibration.threshold:.4f}: pairs with this score or more are positive")
    if calibration.label_scale is not None:
        print(f"Labels from {calibration.label_scale.low:g} to {calibration.label_scale.high:g}")
    print(f"{metrics_line(result.metrics)} (on these {len(pairs):,} pairs)")
    print(f"Saved to {model}")
