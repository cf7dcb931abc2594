"""`pairlight tune`: the settings that suit a model on these pairs."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli import common
from pairlight.cli.train import with_options
from pairlight.data.splits import split
from pairlight.core.progress import progress_reporter
from pairlight.datasets.catalogue import SETS
from pairlight.training.config import TrainingConfig


@with_options
def tune(
    data: Annotated[str, typer.Argument(help="A file of pairs or a named set.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the study and the best settings.")],
    model: Annotated[str, typer.Option("--model", help="Which model.")] = "mv-lstm",
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many trainings in all.")] = 20,
    choices: Annotated[
        list[str] | None, typer.Option("--try", help="Values of a setting to choose among: k=1,3,5.")
    ] = None,
    dev: Annotated[str | None, typer.Option("--dev", help="Pairs that trials are judged on.")] = None,
    left: common.Left = "left",
    right: common.Right = "right",
    label: common.Label = "label",
    left_id: common.LeftId = "left_id",
    right_id: common.RightId = "right_id",
    skip_bad_rows: common.SkipBadRows = False,
    folder: common.Folder = None,
    threads: common.Threads = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Seek the learning rate, the scale of the first weights and settings that do best on dev.

    Run it again to go on where it stopped. What is given as an option is fixed and not sought.
    """
    given = {name: value for name, value in options.items() if value is not None}
    wanted = TrainingConfig.of({}, given)
    sought = {name: value.split(",") for name, value in common.settings_of(choices or []).items()}
    columns = common.Columns(left, right, label, left_id, right_id, skip_bad_rows)
    columns.check([data, dev], folder)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        parts = common.named(data, folder, show) if data in SETS else {"train": columns.read(data, show)}
        held = columns.read(dev, show) if dev else parts.get("dev")
        train = parts["train"]
        if held is None:
            train, held, _ = split(train)  # as `compare` does, whose test lists are never looked at here
        from pairlight.training.examples import with_mined_negatives

        held = with_mined_negatives(held, wanted)
        from pairlight.experiments.tune import SETTINGS
        from pairlight.experiments.tune import tune as run

        common.use_threads(threads)

        def told(number: int, value: float | None, best: float | None) -> None:
            said = "the loss was lost" if value is None else f"dev {value:.4f}"
            show.say(f"Trial {number}: {said}" + ("" if best is None else f", best {best:.4f}"))
            show.share("Tuning", number / trials, f"{number} of {trials} trials")

        found = run(train, held, model, out, trials=trials, choices=sought, options=given, told=told)
    if as_json:
        common.print_json(found)
        return
    for kind in ("settings", "options", "dev"):
        print(f"{kind:9}" + ("  ".join(f"{name}={value}" for name, value in found[kind].items()) or "the model's own"))
    also = [*columns.flags(), *(["--dev", dev] if dev else []), *(["--folder", str(folder)] if folder else [])]
    hint = shlex.join(["pairlight", "train", data, *also, "--settings", str(out / SETTINGS), "--out", "MODEL"])
    print(f"Best of {found['trials']} trials. Try: {hint}")
