"""`pairlight train`: train a model on pairs of texts and save it to a folder."""

import shutil
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairlight.cli.options import (
    MAX_JOBS,
    Cluster,
    Columns,
    Json,
    Overwrite,
    Threads,
    parse_settings,
    with_columns,
    with_training_options,
)
from pairlight.cli.output import command_line, metrics_line, print_json
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.folders import output_folder
from pairlight.core.progress import progress_reporter
from pairlight.core.records import RecordError, decode_file, parse_json, read_bytes
from pairlight.models import DEFAULT_MODEL, model_class
from pairlight.training.config import TrainingConfig

if TYPE_CHECKING:
    from pairlight.data.pair_blocks import PairBlocks
    from pairlight.data.pairs import Pairs
    from pairlight.inference.history import History
    from pairlight.matcher import Matcher

_TRAINING = "training"  # the subfolder of a model folder with the log and the checkpoint
_CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class _Tuned:
    """What is used of a file of `tune`, which may have been changed by hand."""

    model: str
    settings: dict[str, Any]
    options: dict[str, Any]


@with_training_options
@with_columns(folder=True)
def train(
    data: Annotated[str, typer.Argument(help="File of pairs (.tsv, .csv, .jsonl, .parquet), or a named dataset.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    model: Annotated[
        str | None,
        typer.Option("--model", help=f"Name of the model; see `pairlight models`.  [default: {DEFAULT_MODEL}]"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of the model; can be given several times."),
    ] = None,
    tuned: Annotated[Path | None, typer.Option("--settings", help="Settings file written by `tune`.")] = None,
    dev: Annotated[str | None, typer.Option("--dev", help="Pairs that select the best epoch.")] = None,
    test: Annotated[str | None, typer.Option("--test", help="Pairs to evaluate the trained model on.")] = None,
    init: Annotated[
        str,
        typer.Option("--init", help="Model to continue from: a folder, a ready-made model, auto or none."),
    ] = "auto",
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, max=MAX_JOBS, help="Number of processes that train together."),
    ] = 1,
    cluster: Cluster = None,
    checkpoints: Annotated[
        str | None,
        typer.Option(
            "--checkpoints",
            help="With --cluster: folder or URL for checkpoints that all nodes reach.  [default: in --out]",
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="Device: cpu, cuda or mps.")] = "cpu",
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run that was stopped.")] = False,
    overwrite: Overwrite = False,
    threads: Threads = None,
    as_json: Json = False,
    *,
    columns: Columns,
    options: dict[str, Any],
) -> None:
    """Train a model on pairs of texts and save it.

    The epoch that does best on --dev is kept; without --dev, a tenth of the ranking lists is held out for this.

    Parquet files (a folder, a glob or a URL), and a single one of a million rows or more, are read block by block in
    every epoch, so they may be larger than memory. Without --dev, the last block is held out.
    """
    if workers > 1 and cluster is None:
        raise InputError("Several workers train on a cluster: give --cluster auto for one on this machine.")
    if checkpoints is not None and cluster is None:
        raise InputError(
            "Checkpoints are in --out unless training is on a cluster: give --cluster.", option="checkpoints"
        )
    given = _read_tuned(tuned, model)
    options = given.options | options
    # Checked before a large file is read.
    TrainingConfig.of({}, options)
    kind = model_class(given.model)
    folder = out / _TRAINING
    from pairlight.core.storage import delete_file, exists, is_url, join
    from pairlight.data.pair_blocks import is_large
    from pairlight.datasets.catalog import DATASETS

    shared = checkpoints if checkpoints and is_url(checkpoints) else str(Path(checkpoints or folder).resolve())
    checkpoint = join(shared, _CHECKPOINT)

    def is_model(out: Path) -> bool:
        return (out / "config.json").exists() or (resume and exists(checkpoint))

    with output_folder(out, overwrite=overwrite or resume, is_complete=is_model, what="a model") as interrupted:
        large = data not in DATASETS and is_large(data)
        if not large:
            columns.check(data, dev, test)
        train_pairs: Pairs | PairBlocks
        with progress_reporter() as reporter:
            if large:
                train_pairs, options = columns.read_blocks(data, options, reporter)
                files = (("dev", dev), ("test", test))
                splits = {name: columns.read(file, reporter) for name, file in files if file is not None}
            else:
                splits, options = columns.read_training(data, dev, test, options, reporter)
                train_pairs = splits["train"]
            if interrupted and not overwrite:
                resume = exists(checkpoint)
                from_where = "its last checkpoint" if resume else "the start: it has no checkpoint yet"
                reporter.say(f"An earlier run in {out} was stopped. Continuing it from {from_where}.")
        config = TrainingConfig.of({}, options)
        from pairlight.evaluation.evaluate import check_can_evaluate
        from pairlight.matcher import Matcher
        from pairlight.models.settings import check_settings
        from pairlight.training.examples import with_mined_negatives

        dev_pairs, test_pairs = (
            pairs and with_mined_negatives(pairs, config) for pairs in (splits.get("dev"), splits.get("test"))
        )
        for name, pairs in (("dev", dev_pairs), ("test", test_pairs)):
            if pairs is not None:
                check_can_evaluate(pairs, f"the {name} pairs")
        configure_process(threads)
        wanted = given.settings | parse_settings(settings, "settings")
        # Checked here, since a setting may have the name of a parameter of Matcher.
        matcher = Matcher(given.model, **check_settings(given.model, kind, wanted))
        start = None if init == "none" else init
        if cluster is None:
            matcher.fit(train_pairs, dev_pairs, init=start, device=device, folder=folder, resume=resume, **options)
        else:
            matcher = _fit_on_cluster(
                matcher, train_pairs, dev_pairs, start, options, folder, shared, device, cluster, workers, resume
            )
        history = matcher.history
        if not history.epochs:  # the folder may have the log of an earlier model
            shutil.rmtree(folder, ignore_errors=True)
        results = {"dev": matcher.evaluate(matcher.dev)}
        if test_pairs is not None and not history.interrupted:  # test is evaluated once, when training is finished
            results["test"] = matcher.evaluate(test_pairs)
        matcher.save(out, results={name: result.metrics for name, result in results.items()}, command=command_line())
        if not history.interrupted:
            delete_file(checkpoint)
    if as_json:
        evaluations = {name: result.as_dict() for name, result in results.items()}
        about = {"best": history.best, "start": history.start, "baseline": history.baseline, "notes": matcher.notes}
        print_json({"model": str(out), "interrupted": history.interrupted} | about | evaluations)
        return
    if history.interrupted and history.epochs:
        print(f"Stopped early; the best epoch so far is saved. Continue with: {command_line()} --resume")
    elif history.interrupted:
        print("Stopped in the first epoch; the model is saved as it was before training.")
        print(f"Restart with: {command_line()} --overwrite")
    if history.interrupted and test_pairs is not None:
        print("The test pairs were not used: they are evaluated when training is finished.")
    for name, result in results.items():
        print(f"{name:5} {metrics_line(result.metrics)}")
        for note in result.notes:
            print(f"      ({note})")
    if history.best is not None:
        continued = history.init is not None or init not in ("auto", "none")
        print(_summary(history, matcher.config.metric, "before training" if continued else "untrained"))
    print(f"Saved to {out}")


def _fit_on_cluster(
    matcher: "Matcher",
    pairs: "Pairs | PairBlocks",
    dev: "Pairs | None",
    init: str | None,
    options: dict[str, Any],
    folder: Path,
    shared: str,
    device: str,
    cluster: str,
    workers: int,
    resume: bool,
) -> "Matcher":
    """Train on a cluster, and load what came of it."""
    from pairlight.cluster.train import ClusterTraining, train_on_cluster
    from pairlight.core.storage import delete_folder, join
    from pairlight.data.pair_blocks import PairBlocks, write_pair_blocks
    from pairlight.data.splits import split
    from pairlight.matcher import Matcher

    if isinstance(pairs, PairBlocks):
        source = pairs
        if dev is None:
            source, dev = pairs.hold_out()
    else:
        if dev is None:
            pairs, dev = split(pairs, (0.9, 0.1), seed=TrainingConfig.of({}, options).seed)
        source = write_pair_blocks(pairs, join(shared, "pairs"))
    training = ClusterTraining(matcher.name, matcher.settings, options, init, source, dev, shared, device)
    out = folder / "trained"
    train_on_cluster(training, cluster, workers, resume, out)
    trained = Matcher.load(out)
    trained.dev = dev
    shutil.rmtree(out)
    delete_folder(join(shared, "pairs"))
    return trained


def _summary(history: "History", metric: str, start: str) -> str:
    """The dev metric of the model, next to those of BM25 and of the model before training."""
    others = {"BM25": history.baseline.get("bm25"), start: history.start}
    known = ", ".join(f"{name} {value:.4f}" for name, value in others.items() if value is not None)
    return f"dev {metric} {history.best:.4f}" + (f" ({known})" if known else "")


def _read_tuned(path: Path | None, model: str | None) -> _Tuned:
    """The model, settings and options of a file written by `tune`; without a file, the model alone."""
    if path is None:
        return _Tuned(model or DEFAULT_MODEL, {}, {})
    fix = "give a file written by `tune`"
    try:
        values = parse_json(read_bytes(path, fix), path, fix)
        if isinstance(values, dict):
            values = {each.name: values[each.name] for each in fields(_Tuned) if each.name in values}
        found = decode_file(path, _Tuned, values, fix)
    except RecordError as error:
        raise RecordError(str(error), option="tuned") from None
    if model not in (None, found.model):
        raise InputError(
            f"{path} has settings for {found.model}, not for {model}: do not give the model.", option="model"
        )
    return found
