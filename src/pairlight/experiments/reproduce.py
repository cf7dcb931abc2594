"""Reproduces the tables of the papers: runs every row on every dataset and writes a report."""

import hashlib
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError, unknown_name
from pairlight.core.progress import ProgressReporter
from pairlight.datasets.folder import DatasetCard
from pairlight.evaluation.significance import paired_bootstrap, paired_t_test
from pairlight.experiments.cases import CASES, CaseReport, run_case
from pairlight.experiments.curves import check_matplotlib
from pairlight.experiments.executor import Completed, Executor, Failed, Work
from pairlight.experiments.lcs import LcsReport, run_lcs
from pairlight.experiments.lcs_report import write_lcs_report
from pairlight.experiments.papers import LCS, PAPER_TABLES, PaperDataset, PaperRow, PaperTable, experiment_titles
from pairlight.experiments.published import file_suffix, published_label, with_published_rows
from pairlight.experiments.records import Values
from pairlight.experiments.report import (
    PaperReport,
    ReportRow,
    ReportTable,
    Significance,
    SplitSize,
    write_report,
)
from pairlight.experiments.runner import RunLog, check_failures, run_all, specs_of_seeds
from pairlight.experiments.runs import CLASSIFICATION, evaluate_every_epoch, evaluate_lists, evaluate_new_split
from pairlight.experiments.sources import SOURCES, make_source, read_source, source_card
from pairlight.experiments.spec import RunResult, RunSpec, in_paper_form, with_seed
from pairlight.experiments.store import ResultStore
from pairlight.models import model_class
from pairlight.training.config import TrainingConfig

SCALES = ("small", "full")
SEEDS = {"small": 1, "full": 3}
LCS_SEEDS = 10
SMALL_EPOCHS, SMALL_PATIENCE = 5, 2
GLOVE = "glove-50d"


@dataclass(frozen=True)
class Reproduction:
    """The report of an experiment, and the runs that failed."""

    report: PaperReport | LcsReport | CaseReport
    markdown: str
    path: Path  # of the report, without .md, .html or .json
    failures: tuple[Failed, ...] = ()


def reproduce(
    name: str,
    out: Path,
    *,
    command: str,
    executor: Executor,
    scale: str = "small",
    seeds: int | None = None,
    models: str | None = None,
    data: str | None = None,
    finished: bool = False,
    as_published: bool = False,
    vectors: str | None = None,
    reporter: ProgressReporter | None = None,
) -> Reproduction:
    """Run an experiment and write its report to `out`; finished runs are not repeated.

    With `as_published`, the rows are trained as the paper says, and the report has them next to our form of each row,
    as far as that is finished in `out`. `vectors` is a file that replaces the GloVe vectors of 50 dimensions in the
    rows that use them.

    `models` and `data` restrict what is run: labels of rows or names of models, and names of datasets, separated by
    commas. The report always contains everything that was ever finished in `out`. With `finished` nothing is run.
    """
    if scale not in SCALES:
        raise InputError(f"scale={scale!r} is not one of {', '.join(SCALES)}.", option="scale")
    if name not in experiment_titles():
        raise unknown_name("experiment", name, experiment_titles())
    if finished and (models is not None or data is not None):
        raise InputError(
            "A report on finished runs contains all rows and datasets: leave models and data out.", option="finished"
        )
    if name not in PAPER_TABLES and (models is not None or data is not None or finished):
        raise InputError(f"{name} has its own models and data: leave models, data and finished out.", option="models")
    if vectors is not None and not any(
        row.options.get("vectors") == GLOVE for row in (PAPER_TABLES[name].rows if name in PAPER_TABLES else ())
    ):
        raise InputError(f"No row of {name} uses {GLOVE}: leave vectors out.", option="vectors")
    if vectors is not None and not Path(vectors).is_file():
        raise InputError(f"There is no file {vectors}: give a file of word vectors.", option="vectors")
    if as_published and (name not in PAPER_TABLES or PAPER_TABLES[name].one_form):
        raise InputError(f"{name} has one form only: leave as_published out.", option="as_published")
    reporter = reporter or ProgressReporter()
    log = RunLog(reporter)
    path = out / f"{name}-{scale}"
    if name == LCS:
        check_matplotlib()
        found = run_lcs(out, seeds=seeds or LCS_SEEDS, scale=scale, executor=executor, reporter=reporter, log=log)
        lcs_report = LcsReport(scale, command, found)
        return Reproduction(lcs_report, write_lcs_report(out, lcs_report), path, tuple(log.failures))
    if name in CASES:
        check_matplotlib()
        case_report, page = run_case(
            name, out, scale=scale, seeds=seeds or 1, command=command, executor=executor, reporter=reporter
        )
        return Reproduction(case_report, page, path)
    table = PAPER_TABLES[name]
    rows = [] if finished else select_rows(table, models)
    if as_published:
        table = with_published_rows(name)
        wanted = {published_label(row.label) for row in rows}
        rows = [row for row in table.rows if row.label in wanted]
        name = f"{name}-{file_suffix()}"
        path = out / f"{name}-{scale}"
    if vectors is not None:
        rows = [_with_vectors(row, vectors) for row in rows]
        table = replace(table, rows=tuple(_with_vectors(row, vectors) for row in table.rows))
    datasets = [] if finished else select_datasets(table, data)
    check_matplotlib()
    tables = run_table(
        table,
        rows,
        datasets,
        out,
        scale=scale,
        seeds=seeds or SEEDS[scale],
        executor=executor,
        reporter=reporter,
        log=log,
    )
    if not tables:
        check_failures(log.failures)
        raise InputError(
            f"No run of {name} at scale {scale} is finished in {out}: run the experiment first.", option="finished"
        )
    report = PaperReport(name, table.title, scale, command, tuple(tables))
    return Reproduction(report, write_report(out, report), path, tuple(log.failures))


def select_rows(table: PaperTable, models: str | None) -> list[PaperRow]:
    """The rows with these labels or models, separated by commas; all rows for None."""
    if models is None:
        return list(table.rows)
    wanted = [name.strip().lower() for name in models.split(",")]
    known = {name for row in table.rows for name in (row.label.lower(), row.model)}
    for name in wanted:
        if name not in known:
            raise unknown_name("row", name, [row.label for row in table.rows], option="models")
    return [row for row in table.rows if row.label.lower() in wanted or row.model in wanted]


def select_datasets(table: PaperTable, data: str | None) -> list[PaperDataset]:
    """The datasets with these names, separated by commas; for None all that are not on request."""
    if data is None:
        return [each for each in table.datasets if not each.on_request]
    wanted = [name.strip() for name in data.split(",")]
    known = [each.dataset for each in table.datasets]
    for name in wanted:
        if name not in known:
            raise unknown_name("dataset", name, known, option="data")
    return [each for each in table.datasets if each.dataset in wanted]


def _with_vectors(row: PaperRow, vectors: str) -> PaperRow:
    if row.options.get("vectors") != GLOVE:
        return row
    return replace(row, options={**row.options, "vectors": vectors})


def run_table(
    table: PaperTable,
    rows: Sequence[PaperRow],
    datasets: Sequence[PaperDataset],
    out: Path,
    *,
    scale: str,
    seeds: int,
    executor: Executor,
    reporter: ProgressReporter,
    log: RunLog,
) -> list[ReportTable]:
    """Run `rows` on `datasets`; the tables also contain what is finished of other rows and datasets.

    All datasets are made before the first run. Every row is run once before any is run again, so that a run that is
    stopped has a complete table. Runs are stored by the checksums of their data.
    """
    if rows:
        planned = f"{len(rows)} rows x {len(datasets)} datasets x {seeds} seeds"
        reporter.say(f"Runs: {planned}. Finished runs are kept in {out / 'runs'}.")
    for each in datasets:
        make_source(each.dataset, scale, out, lambda done, name=each.dataset: reporter.update(f"Making {name}", done))  # type: ignore[misc]
    made = [(each, card) for each in table.datasets if (card := source_card(each.dataset, scale, out))]
    tables = []
    for number, (dataset, card) in enumerate(made):
        wanted = {row.label for row in rows} if dataset in datasets else set()
        folder = f"{dataset.dataset}-{scale}-{_digest(card)}{'-splits' if table.new_splits else ''}"
        store = ResultStore(out / "runs" / folder, RunResult)
        all_rows = [dataset.on(row) for row in table.rows]
        specs = {
            row.label: specs_of_seeds(partial(plan_row, row, scale), store, seeds if row.label in wanted else 0)
            for row in all_rows
        }
        in_turn = [spec for turn in zip_longest(*specs.values()) for spec in turn if spec]
        if not in_turn:
            continue

        reporter.update("All runs", number / len(made))

        def completed(
            run: Completed[RunResult], done: float, dataset: PaperDataset = dataset, number: int = number
        ) -> None:
            dev = ", ".join(f"{name} {run.result.dev[name]:.3f}" for name in dataset.metrics if name in run.result.dev)
            line = f"{dataset.dataset}, {run.spec.model}, seed {run.spec.seed}: dev {dev}, {run.result.seconds:.0f} s"
            log.completed(line, run.notes)
            reporter.update("All runs", (number + done) / len(made))

        found = run_all(
            in_turn,
            _work(table),
            read_source(dataset.dataset, scale, out) if wanted else {},
            store,
            executor,
            on_completed=completed,
            on_failed=log.failed,
        )
        results = {label: [found[spec.name] for spec in some if spec.name in found] for label, some in specs.items()}
        fixed = CLASSIFICATION if table.every_epoch else {}
        tables.append(
            ReportTable(
                dataset.dataset,
                SOURCES[dataset.dataset].description,
                dataset.paper_dataset,
                {name: SplitSize(info.pairs, info.lists) for name, info in card.splits.items()},
                card.protocol,
                dataset.metrics,
                dataset.baseline,
                tuple(
                    _report_row(
                        row, {**_options(row, scale), **fixed}, results[row.label], dataset, results[dataset.baseline]
                    )
                    for row in all_rows
                ),
            )
        )
    return tables


def _work(table: PaperTable) -> Work[RunResult]:
    if table.every_epoch:
        return evaluate_every_epoch
    return evaluate_new_split if table.new_splits else evaluate_lists


def _digest(card: DatasetCard) -> str:
    """Identifies the files of a dataset."""
    splits = {name: asdict(info) for name, info in card.splits.items()}
    return hashlib.sha256(json.dumps(splits, sort_keys=True).encode()).hexdigest()[:8]


def _options(row: PaperRow, scale: str) -> Values:
    if scale == "full":
        return row.options
    epochs = min(SMALL_EPOCHS, int(row.options.get("epochs", SMALL_EPOCHS)))
    return {**row.options, "epochs": epochs, "patience": 0 if row.last_epoch else SMALL_PATIENCE}


def plan_row(row: PaperRow, scale: str, seed: int) -> RunSpec:
    """The run of a row, which is trained in the form of the papers, without evidence."""
    settings = with_seed(row.model, in_paper_form(row.model, row.settings), seed)
    return RunSpec(row.model, seed, settings, _options(row, scale), row.last_epoch)


def _report_row(
    row: PaperRow, options: Values, runs: list[RunResult], dataset: PaperDataset, baseline: list[RunResult]
) -> ReportRow:
    ours = {name: [run.test[name] for run in runs if name in run.test] for name in dataset.metrics}
    model = model_class(row.model)
    loss = model.paper_training.get("loss", "auto")  # hinge for lists; for labels it is that of the labels
    defaults = {**model.training_options(in_paper_form(row.model, row.settings)), "loss": loss}
    return ReportRow(
        row.label,
        row.model,
        row.settings,
        TrainingConfig.of(defaults, options).as_dict(),
        len(runs),
        {name: row.results.get(name) for name in dataset.metrics},
        {name: statistics.mean(values) if values else None for name, values in ours.items()},
        {name: statistics.pstdev(values) if values else None for name, values in ours.items()},
        tuple(run.seconds for run in runs),
        tuple(run.epochs for run in runs),
        None if row.label == dataset.baseline else _significance(runs, baseline, dataset.metrics[0]),
    )


def _significance(runs: list[RunResult], baseline: list[RunResult], metric: str) -> Significance | None:
    a, b = _mean_per_list(runs, metric), _mean_per_list(baseline, metric)
    if a is None or b is None or len(a) < 2:
        return None
    return Significance(paired_t_test(a, b), paired_bootstrap(a, b))


def _mean_per_list(runs: list[RunResult], metric: str) -> NDArray[np.float64] | None:
    """The mean over seeds of every list; None without runs, or if a run lacks the metric."""
    if not runs or any(metric not in run.per_list for run in runs):
        return None
    return np.mean([run.per_list[metric] for run in runs], axis=0)
