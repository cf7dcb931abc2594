"""The pages of experiments tell what the JSON beside them holds."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "experiments"
PAGES = (FOLDER.parent / "experiments.md", FOLDER / "small.md")


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
    assert write.filled(page, text) == text
    spoilt = re.sub(r"(<!-- begin \S+ -->\n).*?(?=<!-- end)", r"\1", text, flags=re.DOTALL)
    assert spoilt != text
    assert write.filled(page, spoilt) == text


def test_every_result_stands_on_a_page_and_every_link_leads_somewhere() -> None:
    texts = {page: page.read_text("utf-8") for page in PAGES}
    for file in FOLDER.glob("*.json"):
        if "tables" in json.loads(file.read_text("utf-8")):
            assert any(f"<!-- begin {file.stem} -->" in text for text in texts.values())
    for page, text in texts.items():
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / link).exists(), link
