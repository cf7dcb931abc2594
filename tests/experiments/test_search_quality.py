"""The measurement of search: every stage of every collection, and nothing is measured twice."""

import json
from pathlib import Path

import pytest

from pairlight.core.errors import InputError
from pairlight.experiments import search_quality
from pairlight.experiments.search_quality import MAX_QUERIES, _task, measure_search, search_table
from toy_pairs import overlap

TEXTS = ["returns are free within thirty days", "the tracking page shows where your delivery is", "pay by card"]

ROWS = ["first stage", "model", "blend", "tuned blend"]


@pytest.fixture
def measured(monkeypatch):
    calls = []

    def toy():
        calls.append("toy")
        judged = [("where is my parcel", [TEXTS[1]]), ("how can I pay", [TEXTS[2]])]
        return _task(TEXTS, {"dev": judged, "test": judged})

    monkeypatch.setattr(search_quality, "SEARCH_TASKS", {"toy": toy})
    return calls


def test_every_first_stage_is_measured_alone_reranked_and_blended(measured, tmp_path):
    done = measure_search(tmp_path, command="the command")
    stages = done["toy"]["stages"]
    assert list(stages) == ["bm25", "vectors", "hybrid"]
    assert list(stages["hybrid"]["metrics"]) == ROWS
    assert stages["vectors"]["metrics"]["first stage"]["recall"] == 1
    assert stages["hybrid"]["metrics"]["blend"]["mrr"] == 1
    report = (tmp_path / "search.md").read_text(encoding="utf-8")
    assert [row.split(" | ")[0] for row in report.splitlines()[2:5]] == ["| toy (3)", "| ", "| "]
    assert "Command: `the command`" in report


def test_the_table_has_quality_and_milliseconds_of_each_first_stage():
    metrics = {
        row: {"recall": 0.85, "mrr": mrr, "ndcg": 0} for row, mrr in zip(ROWS, (0.1, 0.2, 0.3, 0.4), strict=True)
    }
    stage = {"metrics": metrics, "weight": 0.75, "p50": 12.34, "p99": 56.78}
    table = search_table({"toy": {"texts": 12345, "stages": {"bm25": stage, "hybrid": stage}}})
    assert table.splitlines()[2:] == [
        "| toy (12,345) | bm25 | 0.850 | 0.100 | 0.200 | 0.300 | 0.400 (0.75) | 12.3 ms (56.8) |",
        "|  | hybrid | 0.850 | 0.100 | 0.200 | 0.300 | 0.400 (0.75) | 12.3 ms (56.8) |",
    ]


def test_a_model_that_is_trained_on_the_collection_is_measured_too(tmp_path, monkeypatch):
    judged = [("where is my parcel", [TEXTS[1]]), ("how can I pay", [TEXTS[2]])]
    splits = {split: overlap(8, seed=seed) for seed, split in enumerate(("train", "dev"))}
    monkeypatch.setattr(
        search_quality, "SEARCH_TASKS", {"toy": lambda: _task(TEXTS, {"dev": judged, "test": judged}, splits)}
    )
    monkeypatch.setattr(search_quality, "EPOCHS", 1)
    done = measure_search(tmp_path, command="c")
    stages = ["bm25", "vectors", "hybrid"]
    assert list(done["toy"]["stages"]) == [*stages, *(f"{stage}, trained" for stage in stages)]


def test_what_is_finished_is_not_measured_again(measured, tmp_path):
    first = measure_search(tmp_path, command="c")
    assert measure_search(tmp_path, command="c") == first
    assert measured == ["toy"]


def test_a_collection_that_does_not_exist_is_an_error():
    with pytest.raises(InputError, match=r"No collection named 'wikiqq'\. Did you mean 'wikiqa'"):
        measure_search(Path("unused"), data="wikiqq", command="c")


def test_at_most_so_many_queries_are_measured_and_judgments_have_the_ids_of_the_index():
    judged = [(f"query {i}", [TEXTS[i % 3]]) for i in range(1000)]
    task = _task(TEXTS, {"dev": judged, "test": judged})
    assert {"dev": len(task.dev.queries), "test": len(task.test.queries)} == MAX_QUERIES
    for name, query in task.test.queries.items():
        number = int(query.split()[1])
        assert task.test.relevance[name] == {str(number % 3 + 1): 1}


def test_the_command_prints_the_table(measured, tmp_path, monkeypatch, capsys):
    import sys

    from pairlight import cli

    for flags in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["pairlight", "reproduce", "search", "--out", str(tmp_path), *flags])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert not stopped.value.code
        out = capsys.readouterr().out
        assert "toy" in (json.loads(out) if flags else out)
