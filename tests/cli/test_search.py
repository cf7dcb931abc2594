"""`pairlight index` and `pairlight search`: from a file to results, changes, tuning and errors."""

import json
import os
import signal
import subprocess
import sys

import pytest

DOCS = """id,title,text,lang
returns,Returns,are free within thirty days,en
tracking,Tracking,the tracking page shows where your delivery is,en
payment,Payment,you can pay with any credit card,en
versand,Versand,Sendung verfolgen,de
"""


@pytest.fixture
def docs(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_text(DOCS, encoding="utf-8")
    return path


@pytest.fixture
def index(run, docs, tmp_path):
    code, out, _ = run("index", docs, "--out", tmp_path / "idx")
    assert code == 0
    assert out == f"Indexed 4 documents into {tmp_path / 'idx'}\n"
    return tmp_path / "idx"


def found(run, *arguments):
    code, out, err = run("search", *arguments, "--json")
    assert code == 0, err
    return [hit["id"] for hit in json.loads(out)["hits"]]


def test_a_file_is_indexed_and_searched_with_two_commands(run, index):
    code, out, _ = run("search", index, "where is my parcel", "--top", "2")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 3
    assert "tracking  Tracking the tracking page shows where" in lines[0]
    assert lines[-1].startswith("(4 candidates; first stage ")


def test_results_as_json_have_fields_scores_passages_and_times(run, index):
    result = json.loads(run("search", index, "where is my parcel", "--json")[1])
    best = result["hits"][0]
    assert best["id"] == "tracking"
    assert best["fields"] == {"title": "Tracking", "lang": "en"}
    assert {"score", "first_score", "model_score", "passage"} <= best.keys()
    assert result["seconds"]["total"] > 0


def test_results_are_filtered_and_paged(run, fails, index):
    assert found(run, index, "parcel", "--where", "lang=de") == ["versand"]
    assert set(found(run, index, "parcel", "--where", "lang=de", "--where", "lang=en")) > {"versand"}
    whole = found(run, index, "where is my parcel")
    assert found(run, index, "where is my parcel", "--top", "2", "--offset", "1") == whole[1:3]
    assert run("search", index, "parcel", "--where", "lang=fr")[1].startswith("No answer.")
    fails(["search", index, "parcel", "--where", "lang"], "'lang' is not of the form field=value", "(option --where)")
    fails(["search", index, "parcel", "--top", "20", "--first", "10"], "first of at least 20", "(option --first)")


def test_a_search_and_an_evaluation_use_the_first_stage_that_they_name(run, fails, index, docs, judged, tmp_path):
    assert found(run, index, "pay", "--first-stage", "bm25") == ["payment"]
    assert len(found(run, index, "pay", "--first-stage", "vectors")) == 4
    recall = {
        name: json.loads(run("evaluate", index, *judged, "--first-stage", name, "--json")[1])["stages"]["first stage"]
        for name in ("bm25", "vectors", "hybrid")
    }
    assert recall["vectors"]["recall"] == recall["hybrid"]["recall"] == 1
    fails(["search", index, "pay", "--first-stage", "bm52"], "Did you mean 'bm25'", "(option --first-stage)")
    assert run("index", docs, "--out", tmp_path / "words", "--first-stage", "bm25")[0] == 0
    for command in (["search", tmp_path / "words", "pay"], ["evaluate", tmp_path / "words", *judged]):
        fails([*command, "--first-stage", "vectors"], "has no vectors", "use bm25", "(option --first-stage)")


def test_the_first_result_is_explained(run, fails, index, docs, tmp_path):
    code, out, _ = run("search", index, "where is my parcel", "--explain")
    assert code == 0
    assert "Top cells" in out
    explained = json.loads(run("search", index, "where is my parcel", "--explain", "--json")[1])["explanation"]
    assert explained["right"]["text"] == "Tracking the tracking page shows where your delivery is"
    assert run("index", docs, "--out", tmp_path / "plain", "--model", "none")[0] == 0
    fails(["search", tmp_path / "plain", "x", "--explain"], "has no model to explain", "(option --explain)")


def test_a_large_index_that_is_damaged_is_found_with_verify(run, fails, index, monkeypatch):
    monkeypatch.setattr("pairlight.search.index.CHECKED_DOCUMENTS", 3)  # one of four documents is large
    assert found(run, index, "where is my parcel", "--verify") == found(run, index, "where is my parcel")
    path = index / "vectors" / "vectors-0"
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    assert run("search", index, "where is my parcel")[0] == 0
    fails(["search", index, "where is my parcel", "--verify"], "vectors-0 is damaged: index the documents again")


def test_documents_are_added_updated_and_deleted(run, fails, index, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text('{"id": "hours", "text": "we are open on Sunday"}\n', encoding="utf-8")
    assert run("index", "add", index, more)[1] == f"Added 1 documents: 5 are in {index}\n"
    assert found(run, index, "open on Sunday")[0] == "hours"
    fails(["index", "add", index, more], "has a document 'hours' already", "update it instead")
    more.write_text('{"id": "hours", "text": "the zoo has elephants"}\n', encoding="utf-8")
    assert json.loads(run("index", "update", index, more, "--json")[1])["documents"] == 5
    assert found(run, index, "elephants")[0] == "hours"
    assert run("index", "delete", index, "hours", "nobody")[1] == "Deleted 1 documents (1 were not there)\n"
    (tmp_path / "ids.txt").write_text("payment\nreturns\n")
    assert json.loads(run("index", "delete", index, "--file", tmp_path / "ids.txt", "--json")[1])["deleted"] == 2
    assert set(found(run, index, "open pay")) == {"tracking", "versand"}
    fails(["index", "delete", index], "give one of the two")


@pytest.fixture
def judged(tmp_path):
    (tmp_path / "q.tsv").write_text("1\twhere is my parcel\n2\tare returns free\n", encoding="utf-8")
    (tmp_path / "qrels.txt").write_text("1 0 tracking 1\n2 0 returns 1\n", encoding="utf-8")
    return ["--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "qrels.txt"]


def test_an_index_is_tuned_and_evaluated(run, fails, index, judged, docs):
    code, out, _ = run("index", "tune", index, *judged)
    assert code == 0
    assert "Weight of the model 0.5: MRR@10 1.0000 on 2 queries" in out
    assert "Threshold " in out
    assert json.loads(run("index", "tune", index, *judged, "--json")[1])["mrr"]["1.0"] == 1
    code, out, _ = run("evaluate", index, *judged)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["first", "model", "blend"]
    result = json.loads(run("evaluate", index, *judged, "--first", "3", "--json")[1])
    assert result["queries"] == 2
    assert result["first"] == 3
    fails(["evaluate", index], "give --queries and --qrels")
    fails(["evaluate", index, docs, *judged], "is an index")
    fails(["evaluate", index, *judged, "--task", "ranking"], "remove other options")


def test_options_of_an_index_are_refused_for_a_model(fails, model, data):
    fails(["evaluate", model, data, "--queries", "q.tsv"], "is for an index", "(option --queries)")
    fails(["evaluate", model, data, "--first", "5"], "is for an index", "(option --first)")
    fails(["evaluate", model, data, "--first-stage", "bm25"], "is for an index", "(option --first-stage)")


def test_a_beir_folder_is_indexed_and_evaluated_as_it_is(run, tmp_path):
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(
        '{"_id": "a", "title": "Cats", "text": "purr"}\n{"_id": "b", "text": "dogs"}\n'
    )
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "what do cats do"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    assert run("index", folder, "--out", tmp_path / "idx")[0] == 0
    result = json.loads(run("evaluate", tmp_path / "idx", "--queries", folder, "--json")[1])
    assert result["stages"]["blend"]["mrr"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["index", "nowhere.csv", "--out", "i"], "nowhere.csv does not exist"),
        (["index", "DOCS", "--out", "i", "--first-stage", "dense"], "No first stage named 'dense'"),
        (["index", "DOCS", "--out", "i", "--first-stage", "dense"], "(option --first-stage)"),
        (["index", "DOCS", "--out", "i", "--language", "xx"], "(option --language)"),
        (["index", "DOCS", "--out", "i", "--model", "odd"], "(option --model)"),
        (["index", "DOCS", "--out", "i", "--text", "body"], "(option --text)"),
        (["search", "nowhere", "x"], "give the folder of an index"),
        (["index", "add", "nowhere", "DOCS"], "give the folder of an index"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_nothing_is_written(fails, docs, tmp_path, monkeypatch, arguments, words):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    fails([docs if each == "DOCS" else each for each in arguments], words)
    assert not list((tmp_path / "empty").iterdir())


def test_an_index_is_not_overwritten_by_mistake(run, fails, index, docs):
    fails(["index", docs, "--out", index], "is not empty", "(option --overwrite)")
    assert run("index", docs, "--out", index, "--overwrite")[0] == 0


def test_a_missing_package_is_one_line(fails, docs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tantivy", None)
    fails(["index", docs, "--out", tmp_path / "idx"], "pip install 'pairlight[search]'")


def test_ctrl_c_keeps_what_is_indexed_and_the_same_command_continues(run, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("".join(f"text number {i} of many\n" for i in range(20_000)), encoding="utf-8")
    command = ["index", str(path), "--out", str(tmp_path / "idx"), "--model", "none", "--first-stage", "bm25"]
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from pairlight.search import index; index.BATCH = 1000\nfrom pairlight.cli import main; main()",
            *command,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    meta = tmp_path / "idx" / "documents" / "meta.json"
    while process.poll() is None and not (meta.exists() and '"segment_id"' in meta.read_text()):
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "Interrupted: run the same command again to continue."
    code, out, err = run(*command)
    assert code == 0, err
    assert "Indexed 20,000 documents" in out
