"""Report pages: the same headings, paragraphs, tables and images as Markdown and as one self-contained HTML page."""

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pairlight.core.files import write_text
from pairlight.core.markdown import escape_markdown, markdown_table


@dataclass(frozen=True)
class PageHeading:
    text: str


@dataclass(frozen=True)
class PageEntry:
    """An entry of a table that is more than text."""

    text: str
    link: str | None = None  # the path of a file, relative to the page
    bar: float | None = None  # HTML only: the share of its width, from 0 to 1, that has a darker background
    title: str | None = None  # HTML only: shown when the mouse is on it


@dataclass(frozen=True)
class PageTable:
    """A table whose first column names its rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str | PageEntry]]


@dataclass(frozen=True)
class PageImage:
    path: Path  # a PNG file in the folder of the page
    description: str


PageBlock = str | PageHeading | PageTable | PageImage


def write_page(path: Path, title: str, blocks: Sequence[PageBlock]) -> str:
    """Write `path`.md and `path`.html, and return the Markdown."""
    markdown = page_markdown(title, blocks)
    write_text(path.with_name(f"{path.name}.md"), markdown)
    body = "\n".join(map(_block_html, blocks))
    write_text(path.with_name(f"{path.name}.html"), _PAGE.format(title=html.escape(title), body=body))
    return markdown


def page_markdown(title: str, blocks: Sequence[PageBlock]) -> str:
    """A whole page as Markdown."""
    return "\n\n".join([f"# {escape_markdown(title)}", *map(block_markdown, blocks)]) + "\n"


def block_markdown(block: PageBlock) -> str:
    """One block as Markdown."""
    match block:
        case PageHeading(text):
            return f"## {escape_markdown(text)}"
        case PageTable(head, rows):
            shown = [[_entry_markdown(entry) for entry in row] for row in rows]
            return markdown_table([escape_markdown(name) for name in head], shown, "l" + "r" * (len(head) - 1))
        case PageImage(path, description):
            return f"![{escape_markdown(description)}]({quote(path.name)})"
        case str():
            return "\n".join(map(escape_markdown, block.split("\n")))


def _entry_markdown(entry: str | PageEntry) -> str:
    if isinstance(entry, str):
        return escape_markdown(entry)
    text = escape_markdown(entry.text)
    return f"[{text}]({quote(entry.link)})" if entry.link else text


def _block_html(block: PageBlock) -> str:
    match block:
        case PageHeading(text):
            return f"<h2>{html.escape(text)}</h2>"
        case PageTable(head, rows):
            names = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
            lines = ["".join(_entry_html(entry, first=not i) for i, entry in enumerate(row)) for row in rows]
            body = "\n".join(f"<tr>{line}</tr>" for line in lines)
            return f'<div class="wide"><table><thead><tr>{names}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
        case PageImage(path, description):
            content = base64.b64encode(path.read_bytes()).decode("ascii")
            return f'<p><img alt="{html.escape(description)}" src="data:image/png;base64,{content}"></p>'
        case str():
            return f"<p>{_text_html(block)}</p>"


def _entry_html(entry: str | PageEntry, *, first: bool) -> str:
    entry = PageEntry(entry) if isinstance(entry, str) else entry
    tag = 'th scope="row"' if first else "td"
    if entry.title is not None:
        tag += f' title="{html.escape(entry.title)}"'
    if entry.bar is not None:
        tag += f' class="bar" style="--share:{100 * entry.bar:.1f}%"'
    text = _text_html(entry.text)
    return (
        f"<{tag}>"
        + (f'<a href="{html.escape(quote(entry.link))}">{text}</a>' if entry.link else text)
        + f"</{tag[:2]}>"
    )


def _text_html(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark; --ink: #1b2430; --paper: #fff; --line: #d9dee5; --bar: #cfe3f5; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ee; --paper: #12161c; --line: #2c3440; --bar: #1f4565; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }}
body {{ margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }}
thead th {{ white-space: normal; vertical-align: bottom; }}
th:first-child {{ text-align: left; }}
a {{ color: inherit; }}
img {{ max-width: 100%; background: #fff; }}
.bar {{ background: linear-gradient(to right, var(--bar) var(--share), transparent var(--share)); }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""
