"""`pairlight score`: scores in the order of the file, in three formats."""

import json

import numpy as np
import pytest

from pairlight import Matcher


@pytest.mark.parametrize("extension", ["tsv", "csv", "jsonl"])
def test_scores_are_written_in_the_order_of_the_file(run, model, tmp_path, extension):
    pairs = tmp_path / "p.jsonl"
    texts = [("bama delo", 'say "hi", bama'), ("你好", "👍 ok"), ("x", "y\tz")]
    pairs.write_text("".join(json.dumps({"left": a, "right": b}) + "\n" for a, b in texts), encoding="utf-8")
    out = tmp_path / f"s.{extension}"
    code, said, _ = run("score", model, pairs, "--out", out, "--probability")
    assert (code, said) == (0, f"Wrote the scores of 3 pairs to {out}\n")
    written = out.read_text(encoding="utf-8").splitlines()
    assert len(written) == 3 + (extension != "jsonl")
    assert "你好" in written[-2]
    printed = run("score", model, pairs, "--json")[1].splitlines()
    expected = Matcher.load(model).predict(texts)
    np.testing.assert_allclose([json.loads(line)["score"] for line in printed], expected, rtol=1e-6)


def test_a_calibrated_probability_is_added(run, model, data):
    header, first, *_ = run("score", model, data, "--probability")[1].splitlines()
    assert header.split("\t") == ["left", "right", "score", "probability"]
    assert 0 <= float(first.split("\t")[3]) <= 1


def test_ids_are_written_with_the_scores(run, model, tmp_path):
    (tmp_path / "p.tsv").write_text("qid\tleft\tdid\tright\nq1\tbama\td7\tdelo\n", encoding="utf-8")
    said = run("score", model, tmp_path / "p.tsv", "--left-id", "qid", "--right-id", "did")[1].splitlines()
    assert said[0].split("\t") == ["left_id", "right_id", "left", "right", "score"]
    assert said[1].split("\t")[:4] == ["q1", "d7", "bama", "delo"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--json", "--out", "s.csv"], "give one of the two"),
        (["--out", "s.xml"], "s.xml has an unknown extension: use .tsv, .csv or .jsonl. (option --out)"),
        (["--left", "Question"], "has no column 'Question'"),
    ],
)
def test_bad_options_are_one_line(fails, model, data, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    fails(["score", model, data, *options], words)
    assert not list(tmp_path.iterdir())
