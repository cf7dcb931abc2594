"""Put what `pairlight reproduce` found into docs/experiments.md: its tables stand between marks, made from the JSON.

python docs/experiments/write.py FOLDER    take results and pictures from FOLDER first
python docs/experiments/write.py           only write the tables anew
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from pairlight.files import write_text
from pairlight.reproduce.page import markdown
from pairlight.reproduce.report import caption_of, table_of

HERE = Path(__file__).parent
PAGE = HERE.parent / "experiments.md"
_MARKED = re.compile(r"(?<=<!-- begin (\S+) -->\n).*?(?=<!-- end \1 -->)", re.DOTALL)


def filled(text: str) -> str:
    """The page with the table of every mark as its JSON has it; `begin mv-lstm-qa-full` is mv-lstm-qa-full.json."""
    return _MARKED.sub(lambda mark: _told(json.loads((HERE / f"{mark[1]}.json").read_text("utf-8"))), text)


def _told(found: dict[str, Any]) -> str:
    blocks = [f"`{found['command']}`"]
    for table in found["tables"]:
        name = f"{found['name']}-{found['scale']}-{table['data']}"
        blocks += [f"**{table['data']}.** {caption_of(table)}", markdown(table_of(table))]
        main = table["metrics"][0]
        pictures = {f"{name}.png": f"{main}, the paper's and ours", f"{name}-curves.png": "learning curves"}
        blocks.append(
            " · ".join(f"[{about}](experiments/{file})" for file, about in pictures.items() if (HERE / file).exists())
        )
    return "\n" + "\n\n".join(blocks) + "\n\n"


def take(folder: Path) -> None:
    """Copy the results in a folder that `reproduce` wrote, and their pictures."""
    for file in folder.glob("*.json"):
        shutil.copy(file, HERE)
    for file in folder.glob("*.png"):
        shutil.copy(file, HERE)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        take(Path(folder))
    write_text(PAGE, filled(PAGE.read_text("utf-8")))
