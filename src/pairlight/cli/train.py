"""`pairlight train`: from a file of pairs to a model folder."""

import inspect
import json
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from pairlight.cli import common
from pairlight.core.errors import InputError
from pairlight.core.progress import progress_reporter
from pairlight.datasets.catalogue import SETS
from pairlight.training.config import TrainingConfig

TRAINING = "training"  # the log and the checkpoint, in the model's folder


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one flag for every training option, in place of its `**options`."""
    own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                type(each.default) | None,
                typer.Option(help=f"{each.metadata['meaning']} [{each.default}]", show_default=False),
            ],
        )
        for each in fields(TrainingConfig)
    ]
    command.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    return command


@with_options
def train(
    data: Annotated[str, typer.Argument(help="A file of pairs (.tsv, .csv, .jsonl, .parquet) or a named set.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    model: Annotated[
        str | None, typer.Option("--model", help="Which model; `pairlight models` lists them. [mv-lstm]")
    ] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting of the model, name=value.")] = None,
    tuned: Annotated[Path | None, typer.Option("--settings", help="A file of settings that `tune` wrote.")] = None,
    dev: Annotated[str | None, typer.Option("--dev", help="Pairs that choose the best epoch.")] = None,
    test: Annotated[str | None, typer.Option("--test", help="Pairs to measure the finished model on, once.")] = None,
    left: common.Left = "left",
    right: common.Right = "right",
    label: common.Label = "label",
    left_id: common.LeftId = "left_id",
    right_id: common.RightId = "right_id",
    skip_bad_rows: common.SkipBadRows = False,
    folder: common.Folder = None,
    init: Annotated[Path | None, typer.Option("--init", help="Start from this trained model.")] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda or mps.")] = "cpu",
    threads: common.Threads = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a stopped run left off.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the folder.")] = False,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Train a model on pairs of texts and save it.

    The best epoch is chosen on --dev, else on a tenth of the lists set aside; --test is measured once at the end.
    """
    found = _tuned(tuned, model)
    given = found["options"] | {name: value for name, value in options.items() if value is not None}
    wanted = TrainingConfig.of({}, given)
    _claim(out, resume, overwrite)
    columns = common.Columns(left, right, label, left_id, right_id, skip_bad_rows)
    columns.check([data, dev, test], folder)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        parts = common.named(data, folder, show) if data in SETS else {"train": columns.read(data, show)}
        train_pairs = parts["train"]
        dev_pairs = columns.read(dev, show) if dev else parts.get("dev")
        test_pairs = columns.read(test, show) if test else parts.get("test")
    from pairlight.matcher import Matcher
    from pairlight.training.examples import with_mined_negatives

    dev_pairs, test_pairs = (pairs and with_mined_negatives(pairs, wanted) for pairs in (dev_pairs, test_pairs))
    for name, pairs in (("--dev", dev_pairs), ("--test", test_pairs)):
        if pairs is not None:
            common.check_measurable(pairs, name)
    common.use_threads(threads)
    matcher = Matcher(found["model"], **found["settings"] | common.settings_of(settings or []))
    checkpoints = out / TRAINING
    matcher.fit(train_pairs, dev_pairs, init=init, device=device, folder=checkpoints, resume=resume, **given)
    if not matcher.history.epochs:  # what an older model left
        shutil.rmtree(checkpoints, ignore_errors=True)
    results = {"dev": matcher.evaluate(matcher.dev)}
    if test_pairs is not None:
        results["test"] = matcher.evaluate(test_pairs)
    matcher.save(out, results={name: result.metrics for name, result in results.items()}, command=common.command_line())
    if not matcher.history.interrupted:
        (checkpoints / "checkpoint.safetensors").unlink(missing_ok=True)
    if as_json:
        told = {"model": str(out), "interrupted": matcher.history.interrupted}
        common.print_json(told | {name: result.as_dict() for name, result in results.items()})
        return
    if matcher.history.interrupted and matcher.history.epochs:
        print(f"Stopped early; the best epoch so far is saved. Go on with: {common.command_line()} --resume")
    elif matcher.history.interrupted:
        print(f"Stopped in the first epoch, saved as it stood. Begin anew with: {common.command_line()} --overwrite")
    for name, result in results.items():
        print(f"{name:5} {common.metrics_line(result.metrics)}")
        for note in result.notes:
            print(f"      ({note})")
    print(f"Saved to {out}")


def _claim(out: Path, resume: bool, overwrite: bool) -> None:
    """Make sure that `out` may be written."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: give a folder.")
    if out.is_dir() and any(out.iterdir()) and not resume:
        if not overwrite:
            raise InputError(f"--out {out} is not empty: give another folder, --overwrite or --resume.")
        if not (out / "config.json").exists() and not (out / TRAINING).exists():
            raise InputError(f"--out {out} holds something that is no model, so --overwrite leaves it alone.")


def _tuned(path: Path | None, model: str | None) -> dict[str, Any]:
    """The model, settings and options of a file that `tune` wrote, or the model alone where there is none."""
    if path is None:
        return {"model": model or "mv-lstm", "settings": {}, "options": {}}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--settings {path} cannot be read ({error.strerror}): give a file that tune wrote.") from None
    except ValueError:
        raise InputError(f"--settings {path} is no JSON: give a file that tune wrote.") from None
    kinds = {"model": str, "settings": dict, "options": dict}
    if not isinstance(found, dict) or not all(isinstance(found.get(name), kind) for name, kind in kinds.items()):
        raise InputError(f"--settings {path} lacks a model, settings or options: give a file that tune wrote.")
    if model not in (None, found["model"]):
        raise InputError(f"--settings {path} is for {found['model']}, not for {model}: leave --model out.")
    return found
