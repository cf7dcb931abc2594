"""The pages on experiments show what the JSON files next to them contain."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from pairlight.experiments.lcs import LcsReport
from pairlight.experiments.leaderboard import LeaderboardRow
from pairlight.experiments.records import read_record, read_values
from pairlight.experiments.report import PaperReport

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
    report = read_record(file, LcsReport if "lcs" in file.stem else PaperReport, "run it again")
    written = json.loads(json.dumps(report.as_dict()))
    assert written == read_values(file, "run it again")


def test_the_stored_leaderboard_has_rows_of_this_version() -> None:
    values = read_values(FOLDER.parent / "wikiqa" / "leaderboard.json", "run it again")
    for row in values["rows"]:
        assert LeaderboardRow.from_dict(row).as_dict() == row
