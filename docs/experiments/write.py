"""Writes the tables of the experiment pages, between their marks, from the JSON files of `pairlight reproduce`.

python docs/experiments/write.py FOLDER    take over results, figures and finished runs from FOLDER first
python docs/experiments/write.py           only write the tables
"""

import json
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from PIL import Image

from pairlight.core.files import write_text
from pairlight.experiments.cases import CaseReport
from pairlight.experiments.page import block_markdown
from pairlight.experiments.papers import CASE_TITLES, LCS
from pairlight.experiments.published import form_notes
from pairlight.experiments.records import read_record, write_record
from pairlight.experiments.report import PaperReport, ReportTable, draw_figures, results_table, table_caption

HERE = Path(__file__).parent
PAGES = (HERE.parent / "experiments.md", HERE / "small.md")
RUNS = HERE / "runs"
FIX = "run the experiment again"
_MARKED = re.compile(r"(?<=<!-- begin )(\S+)( -->\n).*?(?=<!-- end \1 -->)", re.DOTALL)
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
    """The new report with the tables and rows that only the old one has results of."""
    tables = {table.dataset: table for table in old.tables}
    for table in new.tables:
        tables[table.dataset] = _merged_table(tables.get(table.dataset, table), table)
    return replace(new, tables=tuple(tables.values()))


def _merged_table(old: ReportTable, new: ReportTable) -> ReportTable:
    before = {row.label: row for row in old.rows if row.seeds}
    return replace(new, rows=tuple(row if row.seeds else before.get(row.label, row) for row in new.rows))


def copy_runs(folder: Path) -> None:
    """Copy the finished runs of tables, without the metrics of single lists that no test needs."""
    for file in folder.glob("*/*.json"):
        if file.parent.name.startswith((*CASE_TITLES, "length-")):
            continue  # of no use without the models, or quicker to run than to store
        run = json.loads(file.read_text("utf-8"))
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
        blocks += [f"**{table.dataset}.** {table_caption(table)}", block_markdown(results_table(table))]
        blocks += form_notes(report.name)
        blocks.append(" · ".join(links))
    return "\n" + "\n\n".join(blocks) + "\n\n"


def _case(page: Path, name: str) -> str:
    body = read_record(HERE / f"{name}.json", CaseReport, FIX).body
    body = re.sub(r"^## (.*)$", r"**\1**", body, flags=re.MULTILINE)
    folder = os.path.relpath(HERE, page.parent)
    return "\n" + re.sub(r"\]\((\S+\.png)\)", rf"]({folder}/\1)", body) + "\n\n"


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        copy_results(Path(folder))
        copy_runs(Path(folder) / "runs")
    for page in PAGES:
        write_text(page, fill_tables(page, page.read_text("utf-8")))
