"""Commands without PyTorch: those that score do not import it, and work where it is missing; others name the extra."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = ("torch", "gensim", "bm25s", "ir_measures", "scipy")
RUN = f"""
import sys
for name in {HIDDEN}:
    sys.modules[name] = None
from pairlight.cli import app
app({{arguments}}, prog_name="pairlight")
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """`pairlight ...` in a process that cannot import the packages of training."""
    code = RUN.replace("{arguments}", repr(list(map(str, arguments))))
    environment = {key: value for key, value in os.environ.items() if key != "PAIRLIGHT_RUNTIME"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def output(*arguments: object) -> str:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def texts(tmp_path) -> Path:
    path = tmp_path / "answers.txt"
    path.write_text("returns are free\nthe tracking page shows where your delivery is\n", encoding="utf-8")
    return path


def test_texts_are_ranked_scored_encoded_and_explained(texts, data, model, tmp_path):
    assert "tracking page" in output("rank", "qa-small", "where is my parcel", texts).splitlines()[0]
    output("score", model, data, "--out", tmp_path / "scored.tsv")
    assert (tmp_path / "scored.tsv").stat().st_size
    output("encode", "qa-small", texts, "--out", tmp_path / "encoded")
    page = tmp_path / "page.html"
    left, right = "where is my parcel", "the tracking page shows where your delivery is"
    assert "pairlight[train]" in output("explain", "qa-small", left, right, "--html", page)
    assert "</html>" in page.read_text(encoding="utf-8")


def test_an_index_is_made_and_searched(tmp_path):
    docs = tmp_path / "docs.csv"
    docs.write_text("id,text\nreturns,are free\ntracking,shows where your delivery is\n", encoding="utf-8")
    output("index", docs, "--out", tmp_path / "index")
    hits = json.loads(output("search", tmp_path / "index", "where is my parcel", "--json"))["hits"]
    assert hits[0]["id"] == "tracking"


def test_doctor_shows_the_runtime():
    assert "light, without PyTorch" in output("doctor")


def test_datasets_are_built(tmp_path):
    output("build", "lcs", "--out", tmp_path / "lcs", "--limit", 20)
    text = tmp_path / "speech.txt"
    clause = "and so it was that bright stars over the dark sea of year {0} ended"
    text.write_text("\n".join(f"When we all met in the great hall number {i}, {clause.format(i)}." for i in range(40)))
    output("build", "completion", text, "--out", tmp_path / "completion")
    papers = tmp_path / "papers.tsv"
    papers.write_text("\n".join(["left\tright", *(f"a paper of year {i}\tone of year y{i}" for i in range(40))]))
    output("build", "citation", papers, "--out", tmp_path / "citation")


@pytest.mark.parametrize(
    "command", ["train", "evaluate", "calibrate", "compare", "tune", "reproduce", "demo", "build qa"]
)
def test_a_command_that_trains_or_evaluates_names_the_extra_in_one_line(command, data, model, tmp_path):
    arguments = {
        "train": [data, "--out", tmp_path / "model"],
        "evaluate": [model, data],
        "calibrate": [model, data],
        "compare": [data, "--models", "bm25", "--out", tmp_path / "compared"],
        "tune": [data, "--out", tmp_path / "tuned"],
        "reproduce": ["mv-lstm-sc", "--out", tmp_path / "reproduced"],
        "demo": ["--out", tmp_path / "demo"],
        "build qa": [data, "--min-words", 1, "--out", tmp_path / "built"],
    }[command]
    done = run(*command.split(), *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].endswith("pip install 'pairlight[train]'."), done.stderr
    assert "Traceback" not in done.stderr


def imports_torch(*arguments: object, runtime: str = "") -> bool:
    """Whether `pairlight ...` imports PyTorch, which is installed."""
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pairlight", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PAIRLIGHT_RUNTIME": runtime},
    )
    assert done.returncode == 0, done.stderr
    return any(line.split("|")[-1].strip() == "torch" for line in done.stderr.splitlines())


def test_commands_that_train_nothing_do_not_import_pytorch_where_it_is_installed(texts, data, model, tmp_path):
    assert not imports_torch("rank", "qa-small", "where is my parcel", texts, "--threads", 1)
    assert not imports_torch("score", model, data, "--out", tmp_path / "scored.tsv")
    assert not imports_torch("encode", model, texts, "--out", tmp_path / "encoded")
    assert not imports_torch("index", texts, "--out", tmp_path / "index", "--model", model)
    assert not imports_torch("search", tmp_path / "index", "where is my parcel")
    assert imports_torch("search", tmp_path / "index", "where is my parcel", "--explain")  # by gradients


def test_the_environment_selects_pytorch_for_commands_that_train_nothing(texts):
    assert imports_torch("rank", "qa-small", "where is my parcel", texts, runtime="torch")
