"""What the README shows is what happens."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from pairlight.models import MODELS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_prints_what_the_readme_says():
    code, expected = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def test_every_command_the_readme_shows_exists():
    from pairlight.cli import app

    known = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    shown = set(re.findall(r"^pairlight (\w+)", README, re.MULTILINE))
    assert shown
    assert shown <= known


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_page_and_a_row(name):
    assert (ROOT / "docs" / "models" / f"{name}.md").is_file()
    assert f"](docs/models/{name}.md)" in README


def test_the_figures_of_the_models_are_those_of_the_leaderboard():
    rows = json.loads((ROOT / "docs" / "wikiqa" / "leaderboard.json").read_text("utf-8"))["rows"]
    shown = re.findall(
        r"^\| \[(.+?)\]\(.*?\) \|.*?\| (\d\.\d{3} ± \d\.\d{3}).*? \| (\d+) \| ([\d,]+) \|$", README, re.MULTILINE
    )
    assert shown == [
        (
            row["model"],
            f"{row['test']['MAP']:.3f} ± {row['spread']['MAP']:.3f}",
            f"{row['train_seconds']:.0f}",
            f"{row['parameters']:,}",
        )
        for row in rows
    ]


def test_the_readme_links_to_files_that_exist():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
