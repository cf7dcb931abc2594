"""`pairlight evaluate`: metrics of a model or of a TREC run, and a page of the worst errors."""

import json

import pytest

from cli.helpers import SMALL, write_labels, write_pairs
from pairlight.data.pairs import Pairs
from toy_pairs import overlap


def test_metrics_are_printed_with_the_number_of_lists(run, data, model):
    code, out, _ = run("evaluate", model, data)
    assert code == 0
    assert "MAP " in out
    assert "(20 lists)" in out


def test_the_result_as_json_names_the_task(run, data, model):
    found = json.loads(run("evaluate", model, data, "--json")[1])
    assert found["task"] == "ranking"
    assert json.loads(run("evaluate", model, data, "--task", "pairs", "--json")[1])["task"] == "pairs"


def test_a_faq_without_labels_is_evaluated_with_random_negatives(run, fails, model, tmp_path):
    path = tmp_path / "faq.csv"
    lines = ["question,answer", *(f"how do I get number {n}?,ask for the box {n} at the desk" for n in range(8))]
    path.write_text("\n".join(lines) + "\n")
    code, out, err = run("evaluate", model, path)
    assert code == 0
    assert "(8 lists)" in out
    assert "has no label column, so every pair is a positive" in " ".join(err.split())
    assert run("evaluate", model, path)[1] == out
    fails(["evaluate", model, path, "--label", "grade"], "no column 'grade'")


def test_trec_files_are_written_and_read(run, data, model, tmp_path):
    files = ["--write-run", tmp_path / "run", "--write-qrels", tmp_path / "qrels"]
    code, out, _ = run("evaluate", model, data, *files)
    assert code == 0
    again = run("evaluate", "--run", tmp_path / "run", "--qrels", tmp_path / "qrels")
    assert again[0] == 0
    assert again[1] == out


def test_a_page_explains_the_worst_errors(run, data, model, tmp_path):
    code, _, err = run("evaluate", model, data, "--errors", tmp_path / "e.html")
    assert code == 0
    assert f"worst errors are in {tmp_path / 'e.html'}" in err.replace("\n", " ").replace("  ", " ")
    assert "The worst errors of mv-lstm on" in (tmp_path / "e.html").read_text()


def test_rated_pairs_have_a_page_of_errors_too(run, tmp_path):
    rated = write_labels(tmp_path / "rated.tsv", [1, 2, 3, 4, 5] * 12)
    assert run("train", rated, "--out", tmp_path / "m", *SMALL)[0] == 0
    assert run("evaluate", tmp_path / "m", rated, "--errors", tmp_path / "e.html")[0] == 0
    assert (tmp_path / "e.html").exists()


@pytest.mark.filterwarnings("always")
def test_warnings_do_not_disturb_the_json_output(run, tmp_path):
    pairs = overlap(20, seed=0)
    left = [f"{pairs.texts[i]} {'long ' * 60}" for i in pairs.left]
    path = write_pairs(tmp_path / "long.tsv", Pairs.of(left, [pairs.texts[i] for i in pairs.right], pairs.label))
    assert run("train", path, "--model", "bm25", "--max-length", "50", "--out", tmp_path / "m")[0] == 0
    _, out, err = run("evaluate", tmp_path / "m", path, "--json")
    assert json.loads(out)["task"] == "ranking"
    assert err.count("were truncated") == 1
    assert "Note: " in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["MODEL", "DATA", "--folder", "."], "for named datasets, and DATA is not one: remove it. (option --folder)"),
        (["MODEL", "DATA", "--split", "dev"], "for named datasets, and DATA is not one: remove it. (option --split)"),
        (["MODEL", "wikiqa", "--split", "validation"], "No split named 'validation'"),
        (
            ["MODEL", "wikiqa", "--label", "y"],
            "for tables of pairs, and wikiqa is not one: remove it. (option --label)",
        ),
        (["nowhere", "DATA"], "nowhere"),
        (["MODEL"], "needs a model folder and data"),
        (["MODEL", "DATA", "--task", "odd"], "No task named 'odd'. Choose from: ranking, pairs. (option --task)"),
        (["MODEL", "DATA", "--task", "pairs", "--keep-empty"], "for ranking lists, and these are labeled pairs"),
        (["MODEL", "DATA", "--task", "pairs", "--keep-empty"], "(option --keep-empty)"),
        (["--run", "r"], "--qrels"),
        (["--run", "r", "--qrels", "q", "--split", "dev"], "--run is evaluated without a model and data"),
        (["--run", "r", "--qrels", "q", "--left", "foo"], "--run is evaluated without a model and data"),
        (["--run", "r", "--qrels", "q", "--errors", "e.html"], "--run is evaluated without a model and data"),
        (["MODEL", "DATA", "--run", "r", "--qrels", "q"], "--run is evaluated without a model and data"),
        (["--run", "r", "--qrels", "q"], "q cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_options_are_one_line(fails, data, model, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    given = [{"DATA": data, "MODEL": model}.get(each, each) for each in arguments]
    fails(["evaluate", *given], words.replace("DATA", data))
