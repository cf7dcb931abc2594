"""The pages on experiments show what the JSON files next to them contain."""

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from pairlight.experiments.cases import CASES, CaseReport
from pairlight.experiments.lcs import LcsReport
from pairlight.experiments.leaderboard import LeaderboardRow
from pairlight.experiments.papers import PAPER_TABLES
from pairlight.experiments.published import with_published_rows
from pairlight.experiments.records import read_record, read_values
from pairlight.experiments.report import PaperReport
from pairlight.experiments.reproduce import SCALES, plan_row
from pairlight.experiments.spec import RunResult

FOLDER = Path(__file__).parent.parent / "docs" / "experiments"
PAGES = (FOLDER.parent / "experiments.md", FOLDER / "small.md")
RESULTS = sorted(FOLDER.glob("*.json"))


@pytest.fixture(scope="module")
def write() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_experiments", FOLDER / "write.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_of_a_page_are_those_of_the_json(write: ModuleType, page: Path) -> None:
    text = page.read_text("utf-8")
    assert write.fill_tables(page, text) == text
    emptied = re.sub(r"(<!-- begin \S+ -->\n).*?(?=<!-- end)", r"\1", text, flags=re.DOTALL)
    assert emptied != text
    assert write.fill_tables(page, emptied) == text


def test_every_table_is_on_a_page_and_every_link_leads_to_a_file() -> None:
    texts = {page: page.read_text("utf-8") for page in PAGES}
    for file in RESULTS:
        if "lcs" not in file.stem:
            assert any(f"<!-- begin {file.stem} -->" in text for text in texts.values())
    for page, text in texts.items():
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.stem)
def test_stored_results_are_records_of_this_version(file: Path) -> None:
    case = file.stem.startswith(tuple(CASES))
    kind = CaseReport if case else LcsReport if "lcs" in file.stem else PaperReport
    report = read_record(file, kind, "run it again")
    written = json.loads(json.dumps(report.as_dict()))
    assert written == read_values(file, "run it again")


def test_the_stored_leaderboard_has_rows_of_this_version() -> None:
    values = read_values(FOLDER.parent / "wikiqa" / "leaderboard.json", "run it again")
    for row in values["rows"]:
        assert LeaderboardRow.from_dict(row).as_dict() == row


def test_stored_runs_are_runs_of_the_tables_so_that_they_are_not_repeated() -> None:
    tables = [*PAPER_TABLES.values(), *(with_published_rows(name) for name in PAPER_TABLES)]
    planned = {
        plan_row(each.on(row), scale, seed).name
        for table in tables
        for each in table.datasets
        for row in table.rows
        for scale in SCALES
        for seed in range(1, 6)
    }
    stored = sorted((FOLDER / "runs").glob("*/*.json"))
    assert stored
    for file in stored:
        assert file.stem in planned, file
        RunResult.from_dict(read_values(file, "run it again")["result"])


def test_rows_that_were_not_run_again_keep_their_results(write: ModuleType) -> None:
    report = read_record(FOLDER / "mv-lstm-sc-full.json", PaperReport, "run it again")
    reuters, sotu = report.tables
    first = replace(reuters.rows[0], seeds=0, ours={}, epochs=())
    other = replace(reuters.rows[1], seeds=5)
    new = replace(report, tables=(replace(reuters, rows=(first, other, *reuters.rows[2:])),))
    found = write.merged(report, new)
    assert found.tables == (replace(reuters, rows=(reuters.rows[0], other, *reuters.rows[2:])), sotu)


def test_a_row_that_was_trained_in_another_form_is_marked_and_left_to_run(write: ModuleType) -> None:
    name = "amv-lstm-wikiqa"
    table = read_record(FOLDER / f"{name}-full.json", PaperReport, "run it again").tables[0]
    row = next(row for row in table.rows if row.label == "aMV-LSTM (Q)")
    assert write.earlier_form(name, table, row) == ""
    other = replace(row, settings={**row.settings, "rescale": False}, options={**row.options, "lr": 0.5})
    assert write.earlier_form(name, table, other) == "rescale = False, lr = 0.5"
    assert write.earlier_form(name, table, replace(other, epochs=())) == ""  # not trained


@pytest.mark.parametrize("seeds", [2, 3])
def test_what_is_left_to_run_are_rows_without_three_seeds(write: ModuleType, monkeypatch, seeds: int) -> None:
    stored, file = write._report, "mv-lstm-sc-full.json"
    reuters = replace(stored(file)[0], rows=tuple(replace(row, seeds=seeds) for row in stored(file)[0].rows))
    monkeypatch.setattr(write, "earlier_form", lambda name, table, row: "")
    monkeypatch.setattr(write, "_report", lambda name: (reuters,) if name == file else stored(name))
    assert ("reproduce mv-lstm-sc --scale full --data reuters`" in write.missing_runs()) == (seeds < 3)
