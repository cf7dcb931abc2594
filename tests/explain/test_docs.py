"""What docs/explaining.md shows runs, one block after the other."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from benchmarks.explaining import explaining, table
from pairlight import Matcher
from pairlight.models import MODELS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "explaining.md").read_text(encoding="utf-8")
TRAIN = [
    ("how to fix a memory stick error", "format the memory stick", 1.0),
    ("how to fix a memory stick error", "buy a new camera", 0.0),
    ("where do crocodiles live", "they live in rivers", 1.0),
    ("where do crocodiles live", "format the memory stick", 0.0),
]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where the page's reader stands: with a trained model and its training pairs."""
    how = {"epochs": 1, "vectors": "none", "negatives": "list", "progress": False}
    Matcher("mv-lstm", interaction="cosine", hidden=4, dim=6).fit(TRAIN, TRAIN, **how).save(tmp_path / "answers")
    rows = ["left\tright\tlabel", *("\t".join(map(str, row)) for row in TRAIN)]
    (tmp_path / "train.tsv").write_text("\n".join(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_of_the_page_runs(folder):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 2
    known: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "docs/explaining.md", "exec"), known)
    assert printed.getvalue().splitlines()[0].startswith("1.0 1.0 ")  # the pair itself is a training pair


def test_the_commands_of_the_page_name_their_data_and_none_writes_where_another_one_wrote():
    commands = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    assert commands.count("train wikiqa ") == commands.count("train wikiqa --folder wikiqa ")
    written = re.findall(r"--out (\S+)", commands)
    assert len(written) >= 5
    assert len(set(written)) == len(written)


def test_every_option_that_the_page_names_is_one_of_the_command():
    from pairlight.cli.explain import explain

    shown = set(re.findall(r"`--(\w+) (?:FILE|N)`", PAGE))
    assert {"png", "svg", "html", "nearest", "grid"} <= shown
    assert shown <= set(explain.__annotations__)


def test_the_table_of_speeds_has_a_row_for_every_model_and_its_benchmark_runs():
    rows = explaining(["bm25"], 1, lambda _: None)
    assert set(rows[0]) == {"model", "score", "mechanism", "all"}
    assert "**70**" in table([{"model": "slow", "score": 0.01, "mechanism": 0.08, "all": 0.2}])
    listed = re.findall(r"^\| ([\w-]+) \| [\d.]+ \| \d+ \| \d+ \|$", PAGE, re.MULTILINE)
    assert listed == list(MODELS)
