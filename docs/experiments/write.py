"""Writes the tables of the experiment pages, between their marks, from the JSON files of `pairlight reproduce`.

python docs/experiments/write.py FOLDER    take over results, figures and finished runs from FOLDER first
python docs/experiments/write.py           only write the tables
"""

import json
import os
import re
import shutil
import statistics
import sys
from dataclasses import replace
from pathlib import Path

from PIL import Image

from pairlight.core.files import write_text
from pairlight.core.markdown import markdown_table
from pairlight.experiments.cases import CaseReport
from pairlight.experiments.page import block_markdown
from pairlight.experiments.papers import CASE_TITLES, LCS, PAPER_TABLES, PaperRow
from pairlight.experiments.published import file_suffix, form_notes, with_published_rows
from pairlight.experiments.records import read_record, write_record
from pairlight.experiments.report import (
    PaperReport,
    ReportRow,
    ReportTable,
    draw_figures,
    results_table,
    table_caption,
)
from pairlight.experiments.reproduce import SCALES, plan_row
from pairlight.experiments.spec import in_paper_form
from pairlight.models import model_class
from pairlight.training.config import TrainingConfig

HERE = Path(__file__).parent
PAGES = (HERE.parent / "experiments.md", HERE / "small.md")
RUNS = HERE / "runs"
FIX = "run the experiment again"
MISSING = "missing"  # the marks of the commands that are left to run
SEEDS, EPOCHS = 3, 10  # of a row, unless it has its own
CITATIONS = 228_000  # training pairs of a dataset of which no table at full scale exists
_MARKED = re.compile(r"(?<=<!-- begin )(\S+)( -->\n).*?(?=<!-- end \1 -->)", re.DOTALL)
_COMPARED = (
    "optimizer",
    "lr",
    "epsilon",
    "margin",
    "vectors",
    "freeze",
)
_TESTED = ("P@1", "MAP", "accuracy")  # the metrics of single lists or pairs that significance tests need


def fill_tables(page: Path, text: str) -> str:
    """The text of a page with all tables: the marks of mv-lstm-qa-full enclose those of mv-lstm-qa-full.json."""
    return _MARKED.sub(lambda mark: f"{mark[1]}{mark[2]}{_section(page, mark[1])}", text)


def copy_results(folder: Path) -> None:
    """Take over the results of a folder. Rows and datasets that were not run there keep their earlier results."""
    for file in folder.glob("*.json"):
        if file.stem.startswith((LCS, *CASE_TITLES)):
            shutil.copy(file, HERE)
            for image in folder.glob(f"{file.stem}*.png"):
                _copy_image(image)
            continue
        report = read_record(file, PaperReport, FIX)
        if (HERE / file.name).is_file():
            report = merged(read_record(HERE / file.name, PaperReport, FIX), report)
        write_record(HERE / file.name, report)
        for table in report.tables:
            for drawn in draw_figures(HERE, f"{file.stem}-{table.dataset}", table):
                _copy_image(drawn.path)


def merged(old: PaperReport, new: PaperReport) -> PaperReport:
    """The new report with the tables and rows that only the old one has results of, or with more seeds."""
    tables = {table.dataset: table for table in old.tables}
    for table in new.tables:
        tables[table.dataset] = _merged_table(new.name, tables.get(table.dataset, table), table)
    return replace(new, command=old.command, tables=tuple(tables.values()))


def _merged_table(name: str, old: ReportTable, new: ReportTable) -> ReportTable:
    # A row of an earlier form is replaced by one of today's form with any number of seeds.
    before = {row.label: row for row in old.rows if row.seeds}
    rows = []
    for row in new.rows:
        other = before.get(row.label, row)
        keep = other.seeds > row.seeds and not (row.seeds and earlier_form(name, old, other))
        rows.append(other if keep else row)
    return replace(new, rows=tuple(rows))


def copy_runs(folder: Path) -> None:
    """Copy the finished runs of tables, without the metrics of single lists that no test needs."""
    for file in folder.glob("*/*.json"):
        if file.parent.name.startswith((*CASE_TITLES, "length-")):
            continue  # of no use without the models, or quicker to run than to store
        run = json.loads(file.read_text("utf-8"))
        run.pop("sha256", None)  # of the whole run
        lists = run["result"]["per_list"]
        tested = {name: lists[name] for name in _TESTED if name in lists}
        run["result"]["per_list"] = {name: [float(f"{value:.4g}") for value in tested[name]] for name in tested}
        write_text(RUNS / file.parent.name / file.name, json.dumps(run, separators=(",", ":")) + "\n")


def _copy_image(file: Path) -> None:
    """With 64 colors, which makes it a quarter of the size."""
    with Image.open(file) as image:
        reduced = image.convert("RGB").quantize(64)
    reduced.save(HERE / file.name, optimize=True)


def _section(page: Path, name: str) -> str:
    if name == MISSING:
        return f"\n{missing_runs()}\n\n"
    if name.startswith(tuple(CASE_TITLES)):
        return _case(page, name)
    report = read_record(HERE / f"{name}.json", PaperReport, FIX)
    blocks = [f"`{report.command}`"]
    for table in report.tables:
        file = f"{name}-{table.dataset}"
        figures = {f"{file}.png": f"{table.metrics[0]} as bars", f"{file}-curves.png": "learning curves"}
        links = [
            f"[{title}]({os.path.relpath(HERE / figure, page.parent)})"
            for figure, title in figures.items()
            if (HERE / figure).is_file()
        ]
        earlier = {row.label: change for row in table.rows if (change := earlier_form(report.name, table, row))}
        rows = tuple(replace(row, label=f"{row.label} *") if row.label in earlier else row for row in table.rows)
        blocks += [
            f"**{table.dataset}.** {table_caption(table)}",
            block_markdown(results_table(replace(table, rows=rows))),
        ]
        if earlier:
            changes = "; ".join(f"{label} ({change})" for label, change in earlier.items())
            blocks.append(f"Rows with * were trained in an earlier form: {changes}.")
        blocks += form_notes(report.name)
        blocks.append(" · ".join(links))
    return "\n" + "\n\n".join(blocks) + "\n\n"


def earlier_form(name: str, table: ReportTable, row: ReportRow) -> str:
    """In which settings and options a row that was run differs from the row of today; empty if in none."""
    experiment = name.removesuffix(f"-{file_suffix()}")
    paper = PAPER_TABLES[experiment] if experiment == name else with_published_rows(experiment)
    dataset = next(each for each in paper.datasets if each.dataset == table.dataset)
    today = next((dataset.on(each) for each in paper.rows if each.label == row.label), None)
    if today is None or not any(row.epochs):
        return ""
    defaults = model_class(today.model).training_options(in_paper_form(today.model, {}))
    options = TrainingConfig.of(defaults, today.options).as_dict()
    values = [
        *((setting, row.settings.get(setting, False), value) for setting, value in today.settings.items()),
        *((option, row.options[option], options[option]) for option in _COMPARED),
    ]
    return ", ".join(f"{each} = {then}" for each, then, now in values if then != now)


def _case(page: Path, name: str) -> str:
    body = read_record(HERE / f"{name}.json", CaseReport, FIX).body
    body = re.sub(r"^## (.*)$", r"**\1**", body, flags=re.MULTILINE)
    folder = os.path.relpath(HERE, page.parent)
    return "\n" + re.sub(r"\]\((\S+\.png)\)", rf"]({folder}/\1)", body) + "\n\n"


def missing_runs() -> str:
    """The commands that run what no JSON file has, with an estimate of their CPU time; no run is in two of them."""
    reports = {name: _report(f"{name}-full.json") for name in PAPER_TABLES}
    files = [f"{name}-{scale}.json" for name in PAPER_TABLES for scale in SCALES]
    measured = [(table, row) for file in files for table in _report(file) for row in table.rows if row.seeds]
    planned = [
        (
            name,
            dataset.dataset,
            row,
            f"{dataset.dataset}, {paper.new_splits}, {plan_row(dataset.on(row), 'full', 1).name}",
        )
        for name, paper in PAPER_TABLES.items()
        for dataset in paper.datasets
        if not dataset.on_request
        for row in paper.rows
    ]
    done: dict[str, int] = {}  # seeds by run: tables share runs
    for name, data, row, key in planned:
        found = [(table, each) for table in reports[name] if table.dataset == data for each in table.rows]
        today = [each for table, each in found if each.label == row.label and not earlier_form(name, table, each)]
        seeds = max((each.seeds for each in today), default=0)
        done[key] = max(seeds, done.get(key, 0))
    left: dict[tuple[str, str], dict[str, float]] = {}  # CPU minutes by command and row
    for name, data, row, key in planned:
        if done[key] < SEEDS:
            epochs = float(row.options.get("epochs", EPOCHS))
            minutes = (SEEDS - done[key]) * _estimate(measured, row, data, epochs) / 60
            left.setdefault((name, data), {})[row.label] = minutes
            done[key] = SEEDS
    lines = []
    for (name, data), rows in left.items():
        # A label with a comma cannot be named; rows that are finished are not run again.
        some = len(rows) < len(PAPER_TABLES[name].rows) and not any("," in label for label in rows)
        models = f' --models "{",".join(rows)}"' if some else ""
        command = f"`pairlight reproduce {name} --scale full --data {data}{models}`"
        lines.append([command, f"{sum(rows.values()):.0f}"])
    total = sum(sum(rows.values()) for rows in left.values())
    lines.append(["all", f"{total:.0f}"])
    return markdown_table(["command", "CPU minutes, about"], lines, "lr")


def _report(file: str) -> tuple[ReportTable, ...]:
    return read_record(HERE / file, PaperReport, FIX).tables if (HERE / file).is_file() else ()


def _estimate(measured: list[tuple[ReportTable, ReportRow]], row: PaperRow, dataset: str, epochs: float) -> float:
    """CPU seconds of a seed: those of the most similar row that was run, in proportion to pairs and epochs."""

    def similarity(found: tuple[ReportTable, ReportRow]) -> tuple[bool, bool, bool, int]:
        table, other = found
        pairs = table.sizes["train"].pairs
        return other.model == row.model, other.settings == row.settings, table.dataset == dataset, pairs

    def work(table: ReportTable, other: ReportRow) -> float:
        return table.sizes["train"].pairs * float(other.options["epochs"])

    table, other = max(measured, key=similarity)
    pairs = max((each.sizes["train"].pairs for each, _ in measured if each.dataset == dataset))
    if dataset == "citations":
        pairs = max(pairs, CITATIONS)
    return pairs * epochs / work(table, other) * statistics.mean(other.seconds)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        copy_results(Path(folder))
        copy_runs(Path(folder) / "runs")
    for page in PAGES:
        write_text(page, fill_tables(page, page.read_text("utf-8")))
