"""`pairlight reproduce`: run the experiment of a paper, and compare our results with the paper's."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairlight.cli.options import MAX_JOBS, MAX_SEEDS, Cluster, Json, choose_executor
from pairlight.cli.output import command_line, metrics_line, print_json
from pairlight.core.errors import InputError
from pairlight.core.folders import locked_folder
from pairlight.core.progress import progress_reporter

if TYPE_CHECKING:
    from pairlight.experiments.executor import Executor

READY_MADE = "ready-made"  # the models that ship with the package
SEARCH = "search"  # the quality of search
PANEL, DEFAULTS = "panel", "defaults"  # every model on datasets of all kinds, and the choice of training options there


def reproduce(
    name: Annotated[str, typer.Argument(help="Name of the experiment; `list` lists them.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for results, data and runs.")] = Path("reproduced"),
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            min=1,
            max=MAX_SEEDS,
            help="Number of seeds for each model.  [default: 1 small, 3 full, 10 for LCS]",
        ),
    ] = None,
    models: Annotated[
        str | None, typer.Option("--models", help="Train only these rows of the table, separated by commas.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Train only on these datasets, separated by commas.")
    ] = None,
    scale: Annotated[str, typer.Option("--scale", help="small takes minutes; full is the whole protocol.")] = "small",
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, max=MAX_JOBS, help="Number of models to train at a time, one core each.")
    ] = (os.cpu_count() or 1),
    cluster: Cluster = None,
    finished: Annotated[bool, typer.Option("--finished", help="Train nothing: report the finished runs.")] = False,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="Train as the paper says; the report also has our form of each row.")
    ] = False,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="File of word vectors instead of GloVe with 50 dimensions, where rows use it."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the experiment of a paper and write a report.

    Run the same command again to continue after it was stopped. The report has all runs that are finished in the
    folder, not only those of this command.
    """
    if name == "list":
        from pairlight.experiments.papers import experiment_titles

        titles = experiment_titles() | {
            PANEL: "Every model with its defaults on datasets of all kinds and sizes, next to BM25",
            DEFAULTS: "The choice of default training options on the panel's dev parts",
            READY_MADE: "The models that ship with the package",
            SEARCH: "The quality of search: first stages, reranking and both",
        }
        if as_json:
            print_json(titles)
            return
        for each, title in titles.items():
            print(f"{each:16} {title}")
        return
    if name in (READY_MADE, SEARCH) and cluster is not None:
        raise InputError(f"reproduce {name} runs in one process: leave --cluster out.", option="cluster")
    with locked_folder(out):
        if name in (PANEL, DEFAULTS):
            _run_panel(name, out, seeds, models, data, choose_executor(jobs, cluster), finished, as_json)
            return
        if name == READY_MADE:
            _rebuild_ready_made(out, as_json)
            return
        if name == SEARCH:
            _measure_search(out, data, as_json)
            return
        _run_experiment(
            name,
            out,
            choose_executor(jobs, cluster),
            as_json,
            scale=scale,
            seeds=seeds,
            models=models,
            data=data,
            finished=finished,
            as_published=as_published,
            vectors=None if vectors is None else str(vectors),
        )


def _run_experiment(name: str, out: Path, executor: "Executor", as_json: bool, **options: Any) -> None:
    from pairlight.experiments.reproduce import reproduce as run
    from pairlight.experiments.runner import check_failures

    started = time.perf_counter()
    with progress_reporter() as reporter:
        result = run(name, out, command=command_line(), executor=executor, reporter=reporter, **options)
    if as_json:
        print_json(result.report.as_dict())
    else:
        print(result.markdown)
        seconds = time.perf_counter() - started
        print(f"Written to {result.path}.md, .html, .json and figures in {seconds:.0f} s.")
    check_failures(result.failures)


def _run_panel(
    name: str,
    out: Path,
    seeds: int | None,
    models: str | None,
    data: str | None,
    executor: "Executor",
    finished: bool,
    as_json: bool,
) -> None:
    from pairlight.core.errors import unknown_name
    from pairlight.core.files import write_text
    from pairlight.experiments import panel
    from pairlight.experiments.defaults import choose_defaults, defaults_report
    from pairlight.experiments.panel_report import panel_report
    from pairlight.experiments.runner import check_failures
    from pairlight.models import model_class

    chosen = None if models is None else [each.strip() for each in models.split(",")]
    for each in chosen or ():
        model_class(each)
    datasets = panel.PANEL if data is None else tuple(each.strip() for each in data.split(","))
    for each in datasets:
        if each not in panel.PANEL:
            raise unknown_name("dataset", each, panel.PANEL, option="data")
    records = panel.PanelRecords(out / f"{name}.jsonl")
    with progress_reporter() as reporter:
        if name == DEFAULTS:
            choices, failures = choose_defaults(records, out, executor, reporter, chosen, finished=finished)
            report = defaults_report(choices)
        else:
            runs = panel.all_panel_runs(seeds or panel.SEEDS, chosen, datasets)
            failures = [] if finished else panel.run_panel(runs, records, out, executor, reporter, measure_test=True)
            report = panel_report(records.of(panel.all_panel_runs(seeds or panel.SEEDS)))
    write_text(out / f"{name}.md", report)
    if as_json:
        print_json([result.as_dict() for result in records.results.values()])
    else:
        print(report)
        print(f"Written to {out / name}.md; the results are in {records.path}.")
    check_failures(failures)


def _measure_search(out: Path, data: str | None, as_json: bool) -> None:
    from pairlight.experiments.search_quality import measure_search, search_table

    with progress_reporter() as reporter:
        done = measure_search(out, data=data, command=command_line(), reporter=reporter)
    if as_json:
        print_json(done)
        return
    print(search_table(done))
    print(f"Written to {out / 'search.md'}.")


def _rebuild_ready_made(out: Path, as_json: bool) -> None:
    from pairlight.experiments.ready_made import ABOUT_DATA, build_ready_made

    metrics = {}
    for name in ABOUT_DATA:
        with progress_reporter() as reporter:
            metrics[name] = build_ready_made(name, out / name, reporter=reporter)
    if as_json:
        print_json(metrics)
        return
    for name, found in metrics.items():
        print(f"{name:10} {metrics_line(found)}")
    print(f"Written to {out}.")
