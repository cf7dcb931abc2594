"""The report of a reproduced table: its records, and a page with the results of the paper next to ours."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from pairlight.core.markdown import inline_code
from pairlight.evaluation.significance import PairedDifference
from pairlight.experiments.curves import draw_curves
from pairlight.experiments.figures import draw_bars
from pairlight.experiments.leaderboard import mean_and_std
from pairlight.experiments.page import PageBlock, PageHeading, PageImage, PageTable, write_page
from pairlight.experiments.published import AS_PUBLISHED, form_notes
from pairlight.experiments.records import Record, Values, write_record
from pairlight.experiments.spec import Epochs

SIGNIFICANCE = (
    "The p-values test the paired difference from the best baseline of the paper in the first metric, list by list or "
    "pair by pair (means over seeds), with Student's t-test and with a bootstrap test. The sign is that of the "
    "difference. CPU s is the CPU time of one seed, including word vectors and evaluation."
)

# The training options in which rows differ.
_OPTIONS = ("loss", "optimizer", "lr", "epsilon", "vectors", "freeze", "epochs", "patience")


@dataclass(frozen=True)
class SplitSize(Record):
    pairs: int
    lists: int


@dataclass(frozen=True)
class Significance(Record):
    """The difference from the best baseline of the paper, tested in two ways."""

    t_test: PairedDifference
    bootstrap: PairedDifference


@dataclass(frozen=True)
class ReportRow(Record):
    """A row of the table of a paper, with our results: means over seeds, None where nothing was run."""

    label: str
    model: str
    settings: Values
    options: Values  # all training options, with defaults
    seeds: int
    paper: dict[str, float | None]  # by metric
    ours: dict[str, float | None]
    std: dict[str, float | None]  # standard deviation over seeds
    seconds: tuple[float, ...]  # CPU time of every seed
    epochs: tuple[Epochs, ...]  # of every seed
    significance: Significance | None = None


@dataclass(frozen=True)
class ReportTable(Record):
    """The table of a paper on one dataset."""

    dataset: str
    description: str
    paper_dataset: str
    sizes: dict[str, SplitSize]
    protocol: str
    metrics: tuple[str, ...]
    baseline: str
    rows: tuple[ReportRow, ...]


@dataclass(frozen=True)
class PaperReport(Record):
    """A reproduced table, or figure, of a paper."""

    name: str
    title: str
    scale: str
    command: str
    tables: tuple[ReportTable, ...]


def write_report(out: Path, report: PaperReport) -> str:
    """Write the report as .md, .html and .json with its figures to `out`, and return the Markdown."""
    name = f"{report.name}-{report.scale}"
    blocks: list[PageBlock] = [
        f"{report.title}. Scale: {report.scale}. Results are means ± standard deviations over seeds; unless the form "
        "of the table says otherwise, the best epoch of each run was selected on dev.",
        f"Last run: {inline_code(report.command)}.",
        SIGNIFICANCE,
    ]
    if report.scale == "small":
        blocks.append("Small scale uses few pairs and few epochs. It shows that everything runs: do not cite it.")
    for table in report.tables:
        blocks += _table_blocks(out, f"{name}-{table.dataset}", table, form_notes(report.name))
    write_record(out / f"{name}.json", report)
    return write_page(out / name, f"{report.name}: {report.title}", blocks)


def shown_rows(table: ReportTable) -> list[ReportRow]:
    """All rows, or those that were run where a table has two forms of each."""
    return [row for row in table.rows if row.seeds or not _has_both_forms(table)]


def _has_both_forms(table: ReportTable) -> bool:
    return any(row.label.endswith(AS_PUBLISHED) for row in table.rows)


def results_table(table: ReportTable) -> PageTable:
    """The results of the paper and ours; a row that was not run has only those of the paper."""
    head = ["model"]
    for metric in table.metrics:
        head += [f"{metric}, paper", f"{metric}, {'here' if _has_both_forms(table) else 'ours'}", "difference"]
    head += ["seeds", "CPU s", "p (t-test)", "p (bootstrap)"]
    rows = []
    for row in shown_rows(table):
        entries = [row.label]
        for metric in table.metrics:
            paper, ours, std = row.paper[metric], row.ours[metric], row.std[metric]
            entries.append("" if paper is None else f"{paper:.3f}")
            entries.append("" if ours is None or std is None else mean_and_std(ours, std, row.seeds))
            entries.append("" if paper is None or ours is None else f"{ours - paper:+.3f}")
        entries.append(str(row.seeds))
        entries.append(f"{statistics.mean(row.seconds):.0f}" if row.seconds else "")
        tests = row.significance
        entries += ["", ""] if tests is None else [_p_value(tests.t_test), _p_value(tests.bootstrap)]
        rows.append(entries)
    return PageTable(head, rows)


def table_caption(table: ReportTable) -> str:
    """The data here and in the paper, the baseline of the p-values, and the CPU time of all rows."""
    unit = "pairs" if table.metrics[0] == "accuracy" else "lists"
    sizes = ", ".join(f"{getattr(size, unit):,} {split}" for split, size in table.sizes.items())
    minutes = sum(sum(row.seconds) for row in table.rows) / 60
    tested = (
        f" p-values are for the difference from {table.baseline}." if any(r.significance for r in table.rows) else ""
    )
    return (
        f"Data: {table.description} ({unit}: {sizes}). Data in the paper: {table.paper_dataset}.{tested} "
        f"CPU time of all rows: {minutes:.1f} minutes."
    )


def draw_figures(out: Path, name: str, table: ReportTable) -> list[PageImage]:
    """Draw the results as bars, and the learning curves if there are any."""
    metric, rows = table.metrics[0], shown_rows(table)
    bars, curves = out / f"{name}.png", out / f"{name}-curves.png"
    draw_bars(bars, rows, metric)
    images = [PageImage(bars, f"{metric} in the paper and here")]
    if any(any(row.epochs) for row in rows):
        dev_metric = "accuracy" if metric == "accuracy" else "MAP"
        draw_curves(curves, {row.label: row.epochs for row in rows}, dev_metric)
        images.append(PageImage(curves, "Training loss and dev metric after every epoch"))
    return images


def _table_blocks(out: Path, name: str, table: ReportTable, forms: tuple[str, ...]) -> list[PageBlock]:
    blocks: list[PageBlock] = [
        PageHeading(table.dataset),
        table_caption(table),
        table.protocol,
        results_table(table),
        *forms,
        *draw_figures(out, name, table),
    ]
    trained = [
        [
            row.label,
            ", ".join(f"{name}={value}" for name, value in row.settings.items()),
            *(str(row.options[name]) for name in _OPTIONS),
        ]
        for row in table.rows
        if any(row.epochs)
    ]
    return [
        *blocks,
        "Settings and training options. The loss auto is hinge for ranking lists and bce for labeled pairs.",
        PageTable(["model", "settings", *_OPTIONS], trained),
    ]


def _p_value(difference: PairedDifference) -> str:
    """The sign of the difference and its p-value."""
    p = difference.p_value
    return f"{'+' if difference.mean >= 0 else '−'} {'< 0.001' if p < 0.001 else f'{p:.3f}'}"
