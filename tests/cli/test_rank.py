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
        "cannot be read (No such file or directory): give the folder of a saved model.",
    )


@pytest.mark.parametrize("texts", ["nowhere.txt", "."])
def test_texts_that_cannot_be_read_are_one_line(fails, model, texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fails(["rank", model, "bama", texts], f"{texts} cannot be read")


def test_texts_and_encodings_are_not_given_together(fails, model, tmp_path):
    fails(["rank", model, "bama"], "give one of the two")
    fails(["rank", model, "bama", tmp_path / "a", "--encoded", tmp_path / "b"], "give one of the two")
