"""What the README shows is what happens, and it stays short."""

import contextlib
import io
import re

from docs.pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_prints_what_the_readme_says():
    code, expected = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def test_the_readme_fits_two_screens():
    assert len(README.splitlines()) <= 90


def test_the_readme_counts_no_models():
    assert not re.search(r"\b\d+ (matching )?models\b", README)


def test_the_readme_has_the_words_that_people_search_for():
    assert "rerank" in README
    assert "semantic search" in README
