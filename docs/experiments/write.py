"""Put what `pairlight reproduce` found into the pages: their tables stand between marks, made from the JSON.

python docs/experiments/write.py FOLDER    take results and pictures from FOLDER first
python docs/experiments/write.py           only write the tables anew
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from pairlight.core.files import write_text
from pairlight.experiments.page import markdown
from pairlight.experiments.report import caption_of, table_of

HERE = Path(__file__).parent
PAGES = (HERE.parent / "experiments.md", HERE / "small.md")
_MARKED = re.compile(r"(?<=<!-- begin )(\S+)( -->\n).*?(?=<!-- end \1 -->)", re.DOTALL)


def filled(page: Path, text: str) -> str:
    """A page's text with the table of every mark as the JSON has it: `begin mv-lstm-qa-full`, mv-lstm-qa-full.json."""
    return _MARKED.sub(lambda mark: f"{mark[1]}{mark[2]}{_told(page, mark[1])}", text)


def _told(page: Path, name: str) -> str:
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    blocks = [f"`{found['command']}`"]
    for table in found["tables"]:
        drawn = f"{name}-{table['data']}"
        pictures = {f"{drawn}.png": f"{table['metrics'][0]} as bars", f"{drawn}-curves.png": "learning curves"}
        links = [
            f"[{about}]({os.path.relpath(HERE / file, page.parent)})"
            for file, about in pictures.items()
            if (HERE / file).is_file()
        ]
        blocks += [f"**{table['data']}.** {caption_of(table)}", markdown(table_of(table)), " · ".join(links)]
    return "\n" + "\n\n".join(blocks) + "\n\n"


def take(folder: Path) -> None:
    """Copy the results that `reproduce` wrote to a folder, and their pictures in few colours, a quarter of the size."""
    for file in folder.glob("*.json"):
        shutil.copy(file, HERE)
    for file in folder.glob("*.png"):
        with Image.open(file) as picture:
            picture.convert("RGB").quantize(64).save(HERE / file.name, optimize=True)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        take(Path(folder))
    for page in PAGES:
        write_text(page, filled(page, page.read_text("utf-8")))
