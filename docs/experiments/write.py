"""Writes the tables of the experiment pages, between their marks, from the JSON files of `pairlight reproduce`.

python docs/experiments/write.py FOLDER    copy results and figures from FOLDER first
python docs/experiments/write.py           only write the tables
"""

import os
import re
import shutil
import sys
from pathlib import Path

from PIL import Image

from pairlight.core.files import write_text
from pairlight.experiments.page import block_markdown
from pairlight.experiments.published import form_notes
from pairlight.experiments.records import read_record
from pairlight.experiments.report import PaperReport, results_table, table_caption

HERE = Path(__file__).parent
PAGES = (HERE.parent / "experiments.md", HERE / "small.md")
_MARKED = re.compile(r"(?<=<!-- begin )(\S+)( -->\n).*?(?=<!-- end \1 -->)", re.DOTALL)


def fill_tables(page: Path, text: str) -> str:
    """The text of a page with all tables: the marks of mv-lstm-qa-full enclose those of mv-lstm-qa-full.json."""
    return _MARKED.sub(lambda mark: f"{mark[1]}{mark[2]}{_tables(page, mark[1])}", text)


def copy_results(folder: Path) -> None:
    """Copy JSON files, and figures with 64 colors, which makes them a quarter of the size."""
    for file in folder.glob("*.json"):
        shutil.copy(file, HERE)
    for file in folder.glob("*.png"):
        with Image.open(file) as image:
            image.convert("RGB").quantize(64).save(HERE / file.name, optimize=True)


def _tables(page: Path, name: str) -> str:
    report = read_record(HERE / f"{name}.json", PaperReport, "run the experiment again")
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


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        copy_results(Path(folder))
    for page in PAGES:
        write_text(page, fill_tables(page, page.read_text("utf-8")))
