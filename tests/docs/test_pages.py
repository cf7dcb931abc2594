"""What the pages say about the code is true: models, settings, commands, figures and links exist."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
import typer

from docs.pages import DOCS, PAGES, ROOT, blocks, commands, name_of
from pairlight import Matcher
from pairlight.cli import app, main
from pairlight.experiments.panel import PANEL
from pairlight.kernels.native.library import native
from pairlight.models import MODELS, model_class
from pairlight.models.settings import model_settings
from pairlight.training.config import TrainingConfig

SOURCE = ROOT / "src" / "pairlight"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATH = re.findall(r"^([\w/]+\.py):([\w.]+)", CONTRIBUTING, re.MULTILINE)  # from file to score


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_page_with_its_settings(name):
    page = (DOCS / "models" / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {name}\n")
    assert f"```{{model-settings}} {name}\n" in page


@pytest.mark.parametrize("name", MODELS)
def test_the_settings_that_a_model_page_recommends_are_valid(name):
    settings, options = model_settings(model_class(name)), {each.name for each in fields(TrainingConfig)}
    page = (DOCS / "models" / f"{name}.md").read_text(encoding="utf-8")
    for key, value in re.findall(r"`(\w+)=([\w.-]+)`", page):
        if key in settings:
            settings[key].parse(value)
        else:
            assert key in options


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_commands_of_a_page_exist_with_their_options(page):
    group = typer.main.get_command(app)
    for block in blocks(page):
        for arguments in commands(block.text) if block.language in ("sh", "console") else ():
            known, words = group, list(arguments)
            while hasattr(known, "commands"):
                default = getattr(known, "default_command", None)  # where a group also works without a command's name
                known = known.commands[words.pop(0) if words[0] in known.commands or not default else default]
            options = {flag for each in known.params for flag in (*each.opts, *each.secondary_opts)}
            flags = {word.strip("[]") for word in words if word.strip("[").startswith("--")}
            assert flags <= options, arguments


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_links_of_a_page_lead_to_files(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_the_figures_of_the_readme_are_those_measured():
    records = [json.loads(line) for line in (DOCS / "panel" / "panel.jsonl").read_text("utf-8").splitlines()]
    full = [each for each in records if each["cut"] == 0 and each["model"] == "late-interaction"]
    zero_shot = json.loads((DOCS / "panel" / "zero_shot.json").read_text("utf-8"))
    speed = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))["subwords"]
    measured = {"late-interaction": [], "MiniLM": [], "BM25": []}
    for dataset in ("stsb-en", "banking77-faq", "wikiqa"):
        own = [each["test"] for each in full if each["dataset"] == dataset]
        assert len(own) == 3
        mini = next(each["test"] for each in zero_shot if (each["model"], each["dataset"]) == ("MiniLM", dataset))
        measured["late-interaction"].append(f"{np.mean([each['model'] for each in own]):.3f}")
        measured["BM25"].append(f"{own[0]['bm25']:.3f}")
        measured["MiniLM"].append(f"{mini:.3f}")
    per_second = {each["side"]: f"{each['score']:,.0f}" for each in speed}
    measured["late-interaction"].append(per_second["late-interaction, tokenized texts"])
    measured["MiniLM"].append(per_second["MiniLM (L6-H384), onnxruntime int8, tokenized texts"])
    text = (ROOT / "README.md").read_text("utf-8")
    for name, figures in measured.items():
        assert f"| {name} | {' | '.join(figures)} |" in text, name


def test_the_figures_of_models_without_training_are_those_measured():
    measured = json.loads((DOCS / "panel" / "zero_shot.json").read_text("utf-8"))
    head, *table = re.findall(r"^\| .*\|$", (DOCS / "panel.md").read_text("utf-8"), re.MULTILINE)
    datasets = re.findall(r"([\w-]+) \(", head)
    assert sorted(datasets) == sorted(PANEL)
    for model in ("MiniLM", "WordLlama", "model2vec"):
        values = {each["dataset"]: f"{each['test']:.3f}" for each in measured if each["model"] == model}
        assert f"| {model} | {' | '.join(values[name] for name in datasets)} |" in table


def test_the_table_of_the_leaderboard_is_that_of_its_json():
    text = (DOCS / "wikiqa" / "leaderboard.md").read_text("utf-8")
    rows = json.loads((DOCS / "wikiqa" / "leaderboard.json").read_text("utf-8"))["rows"]
    shown = re.findall(r"^\| ([\w-]+) \| (\d\.\d{3} ± \d\.\d{3}) \|.*\| ([\d,]+) \|$", text, re.MULTILINE)
    figures = [(row["model"], f"{row['test']['MAP']:.3f} ± {row['std']['MAP']:.3f}", row["parameters"]) for row in rows]
    assert shown == [(model, figure, f"{parameters:,}") for model, figure, parameters in figures]


def test_the_path_of_a_pair_names_functions_that_exist():
    assert len(PATH) > 10
    for file, name in PATH:
        assert name in defined(SOURCE / file), f"{file}:{name}"


def test_the_path_of_a_pair_is_the_one_that_a_score_takes(tmp_path, monkeypatch, capsys):
    pairs = [("where is my parcel", "it is here", 1.0), ("where is my parcel", "we are open", 0.0)]
    Matcher("mv-lstm").fit(pairs, dev=pairs, vectors="none", epochs=1, progress=False).save(tmp_path / "model")
    (tmp_path / "pairs.tsv").write_text("left\tright\nwhere is my parcel\tit is here\n", encoding="utf-8")
    called: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(SOURCE):
            called.setdefault((file.relative_to(SOURCE).as_posix(), frame.f_code.co_qualname))

    monkeypatch.setattr(sys, "argv", ["pairlight", "score", str(tmp_path / "model"), str(tmp_path / "pairs.tsv")])
    sys.setprofile(note)
    try:
        with pytest.raises(SystemExit):
            main()
    finally:
        sys.setprofile(None)
    steps = [step for step in PATH if native(np.float32) is not None or not step[0].startswith("kernels/native")]
    assert [step for step in called if step in steps] == steps


def test_the_files_and_folders_that_contributing_names_exist():
    named = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]+)`", CONTRIBUTING)
    assert named
    assert not [each for each in named if not (ROOT / each).exists()]


def test_the_table_of_packages_is_in_the_order_of_the_architecture():
    from test_architecture import PACKAGES

    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|", CONTRIBUTING, re.MULTILINE)
    assert rows == PACKAGES


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    options = ["-W", "--keep-going", "-n", "-E", "-q", "-d", str(tmp_path / "doctrees")]
    subprocess.run([sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "site")], check=True)
    pages = list((tmp_path / "site").rglob("*.html"))
    assert pages
    for page in pages:  # the site is complete without a network
        assert not re.search(r'<(script|link|img)[^>]+(src|href)="https?:', page.read_text(encoding="utf-8")), page


def defined(path: Path) -> set[str]:
    """The functions and classes of a file, and the methods of its classes as Class.method."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names
