"""A report is paragraphs, tables and pictures: written as Markdown, and as one HTML page without any outside file."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pairlight.core.files import write_text


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    path: Path
    about: str


Block = str | Heading | Table | Picture


def write_page(path: Path, title: str, blocks: Sequence[Block]) -> str:
    """Write `path`.md and `path`.html; give the Markdown."""
    text = "\n\n".join([f"# {title}", *map(markdown, blocks)]) + "\n"
    write_text(path.with_suffix(".md"), text)
    body = "\n".join(map(_html, blocks))
    write_text(path.with_suffix(".html"), _PAGE.format(title=html.escape(title), body=body))
    return text


def markdown(block: Block) -> str:
    """A block as Markdown."""
    match block:
        case Heading(text):
            return f"## {text}"
        case Table(head, rows):
            lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
            return "\n".join("| " + " | ".join(line) + " |" for line in lines)
        case Picture(path, about):
            return f"![{about}]({path.name})"
        case str():
            return block


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h2>{html.escape(text)}</h2>"
        case Table(head, rows):
            first = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
            body = "\n".join(
                f'<tr><th scope="row">{html.escape(row[0])}</th>'
                + "".join(f"<td>{html.escape(field)}</td>" for field in row[1:])
                + "</tr>"
                for row in rows
            )
            return f'<div class="wide"><table><thead><tr>{first}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
        case Picture(path, about):
            content = base64.b64encode(path.read_bytes()).decode("ascii")
            return f'<p><img alt="{html.escape(about)}" src="data:image/png;base64,{content}"></p>'
        case str():
            return f"<p>{html.escape(block)}</p>"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark; --ink: #1b2430; --paper: #fff; --line: #d9dee5; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ee; --paper: #12161c; --line: #2c3440; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }}
body {{ margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }}
th:first-child {{ text-align: left; }}
img {{ max-width: 100%; background: #fff; }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""
