"""The example of docs/serving.md runs."""

import re
from pathlib import Path

from pairlight.models import MODELS
from pairlight.models.base import DualEncoder

PAGE = (Path(__file__).parent.parent / "docs" / "serving.md").read_text(encoding="utf-8")


def test_the_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(compile(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], "docs/serving.md", "exec"), names)
    ranked = names["matcher"].rank("where is my delivery", names["encodings"], top_k=2, return_documents=True)
    assert [each["text"] for each in ranked] == [names["answers"][each["corpus_id"]] for each in ranked]
    assert (tmp_path / "answers.safetensors").is_file()


def test_the_page_names_every_model_that_can():
    named = set(re.findall(r"`([a-z-]+)`", PAGE.split("```")[0]))
    assert named == {name for name, kind in MODELS.items() if issubclass(kind, DualEncoder)}
