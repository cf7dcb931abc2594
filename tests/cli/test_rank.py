"""`pairlight rank`: the best lines of a file first."""

import io
import json
import sys

import pytest


def test_the_best_texts_are_printed_first(run, model, tmp_path):
    (tmp_path / "docs.txt").write_text("bama delo\n\nfiri godu\nkusi bama\n", encoding="utf-8")
    code, out, _ = run("rank", model, "bama delo", tmp_path / "docs.txt", "--top", "2")
    assert code == 0
    scores = [float(line.split()[1]) for line in out.splitlines()]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)
    found = json.loads(run("rank", model, "bama delo", tmp_path / "docs.txt", "--json")[1])
    assert {each["text"] for each in found} == {"bama delo", "firi godu", "kusi bama"}


def test_texts_can_come_from_standard_input(run, model, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"bama delo\nfiri godu\n")))
    found = json.loads(run("rank", model, "bama", "-", "--json")[1])
    assert {each["text"] for each in found} == {"bama delo", "firi godu"}


def test_only_line_ends_end_a_text(run, model, tmp_path):
    (tmp_path / "texts.txt").write_bytes("pay by card\u2028or cash\r\n\nask\x0c us\n".encode())
    found = json.loads(run("rank", model, "how to pay", tmp_path / "texts.txt", "--json")[1])
    assert {each["text"] for each in found} == {"pay by card\u2028or cash", "ask\x0c us"}


def test_a_missing_model_is_one_line(fails, data, tmp_path):
    fails(
        ["rank", tmp_path / "nowhere", "bama", data],
        "nowhere is not a model (there is no such folder): give the folder of a saved model, or one of qa-small",
    )


@pytest.mark.parametrize("texts", ["nowhere.txt", "."])
def test_texts_that_cannot_be_read_are_one_line(fails, model, texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fails(["rank", model, "bama", texts], f"{texts} cannot be read")


def test_texts_and_encodings_are_not_given_together(fails, model, tmp_path):
    fails(["rank", model, "bama"], "give one of the two")
    fails(["rank", model, "bama", tmp_path / "a", "--encoded", tmp_path / "b"], "give one of the two")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "faq.csv"
    path.write_text("question,doc_id,answer\nq,a1,bama delo\nq,a20,firi godu\nq,a3,kusi bama\n", encoding="utf-8")
    return path


def test_texts_and_ids_can_come_from_the_columns_of_a_table(run, fails, model, table):
    code, out, err = run("rank", model, "bama delo", table)
    assert code == 0
    assert f"{table}: the columns used are text=answer, id=doc_id." in err
    found = json.loads(run("rank", model, "bama delo", table, "--json")[1])
    expected = {"bama delo": "a1", "firi godu": "a20", "kusi bama": "a3"}
    assert {each["text"]: each["id"] for each in found} == expected
    assert [line.split()[2] for line in out.splitlines()] == [each["id"] for each in found]
    named = json.loads(run("rank", model, "q", table, "--text", "doc_id", "--id", "answer", "--json")[1])
    assert {each["id"]: each["text"] for each in named} == expected
    fails(["rank", model, "q", table, "--text", "body"], "has no column 'body'", "(option --text)")


def test_ids_are_kept_by_encodings(run, fails, model, table, tmp_path):
    stored = tmp_path / "stored"
    assert run("encode", model, table, "--out", stored)[0] == 0
    assert run("rank", model, "bama", "--encoded", stored)[1] == run("rank", model, "bama", table)[1]
    fails(["rank", model, "bama", "--encoded", stored, "--id", "x"], "has no columns", "(option --id)")
    assert run("encode", model, table, "--out", stored, "--text", "question", "--id", "answer")[0] == 0
    found = json.loads(run("rank", model, "bama", "--encoded", stored, "--json")[1])
    assert {each["id"] for each in found} == {"bama delo", "firi godu", "kusi bama"}


def test_columns_of_a_file_of_lines_are_one_line(fails, model, tmp_path):
    (tmp_path / "docs.txt").write_text("bama\n")
    fails(["rank", model, "q", tmp_path / "docs.txt", "--text", "answer"], "is read as lines", "(option --text)")
