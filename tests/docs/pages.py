"""The pages of the documentation and the blocks of code in them."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]

_BLOCK = re.compile(r"^( *)```(\S+)( \S+)?\n(?:\1:caption: (\S+)\n\n)?(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block; one with a caption is the content of the file of that name."""

    language: str
    caption: str | None
    text: str


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(match[2], match[4], match[5])


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of every `pairlight` command in a block, comments left out."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.strip().removeprefix("$ "), comments=True)
        if words[:1] == ["pairlight"]:
            yield words[1:]
