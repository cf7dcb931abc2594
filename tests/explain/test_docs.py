"""The examples of docs/explaining.md run, and its options and models exist."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from benchmarks.explaining import ExplainTime, measure_models, time_table
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
    """The current folder, with the trained model and the training pairs that the page uses."""
    options = {"epochs": 1, "vectors": "none", "negatives": "list", "progress": False}
    Matcher("mv-lstm", interaction="cosine", hidden=4, dim=6).fit(TRAIN, TRAIN, **options).save(tmp_path / "answers")
    rows = ["left\tright\tlabel", *("\t".join(map(str, row)) for row in TRAIN)]
    (tmp_path / "train.tsv").write_text("\n".join(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_python_examples_run(folder):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 2
    names: dict[str, object] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for block in blocks:
            exec(compile(block, "docs/explaining.md", "exec"), names)
    assert printed.getvalue().splitlines()[0].startswith("1.0 1.0 ")  # the pair itself is a training pair


def test_commands_name_their_data_and_write_to_different_folders():
    commands = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    assert commands.count("train wikiqa ") == commands.count("train wikiqa --folder wikiqa ")
    written = re.findall(r"--out (\S+)", commands)
    assert len(written) >= 5
    assert len(set(written)) == len(written)


def test_the_options_of_the_page_are_options_of_the_command():
    from pairlight.cli.explain import explain

    options = set(re.findall(r"`--(\w+) (?:FILE|N)`", PAGE))
    assert {"png", "svg", "html", "nearest", "grid"} <= options
    assert options <= set(explain.__annotations__)


def test_the_benchmark_of_speed_runs_and_marks_slow_models():
    (row,) = measure_models(["bm25"], 1, lambda _: None)
    assert row.model == "bm25"
    assert 0 < row.score < row.everything
    assert "**70**" in time_table([ExplainTime("slow", score=0.01, mechanism=0.08, everything=0.2)])


def test_the_tables_of_the_page_name_existing_models_in_their_order():
    for row in (r"^\| ([\w-]+) \| [\d.]+ \| \d+ \| \d+ \|$", r"^\| ([\w-]+) \| 0\.\d\d \| -?[\d.]+ \|.*\|$"):
        listed = re.findall(row, PAGE, re.MULTILINE)
        assert len(listed) >= 24
        assert listed == [name for name in MODELS if name in listed]
