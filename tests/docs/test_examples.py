"""The examples of the quick start and of the guides run, from top to bottom."""

import sys
from pathlib import Path

import pytest

from docs.pages import DOCS, blocks, commands, name_of
from pairlight import cli

EXAMPLES = [DOCS / "quickstart.md", *sorted((DOCS / "guides").glob("*.md"))]


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pairlight", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert not stopped.value.code, f"pairlight {' '.join(arguments)}"


@pytest.mark.parametrize("page", EXAMPLES, ids=name_of)
def test_the_examples_of_a_page_run(page: Path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    for block in blocks(page):
        if block.caption is not None:
            Path(block.caption).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.text, name_of(page), "exec"), names)
            ran += 1
        elif block.language == "console":
            for arguments in commands(block.text):
                run(arguments, monkeypatch)
                ran += 1
    assert ran
