"""`pairlight encode`, and `rank` with what it wrote."""

import json

import pytest

from pairlight import Matcher
from toy_pairs import overlap

PAIRS = overlap(12, seed=0)
LINES = [PAIRS.texts[i] for i in PAIRS.right]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "model"
    Matcher("mv-lstm", hidden=4, k=3, dim=6).fit(PAIRS, PAIRS, vectors="none", epochs=1, progress=False).save(folder)
    return folder


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(LINES) + "\n\n", encoding="utf-8")
    return path


def test_texts_encoded_once_are_ranked_as_their_lines_are(run, model, texts, tmp_path):
    stored = tmp_path / "texts.safetensors"
    code, out, _ = run("encode", model, texts, "--out", stored)
    assert (code, out) == (0, f"TokenizedTexts {len(LINES)} texts to {stored}: 0.2 kB a text\n")
    assert run("rank", model, LINES[0], "--encoded", stored)[1] == run("rank", model, LINES[0], texts)[1]
    assert len(run("rank", model, "bama", "--encoded", stored, "--top", "2")[1].splitlines()) == 2


def test_lower_precision_says_how_near_it_is(run, model, texts, tmp_path):
    code, out, _ = run("encode", model, texts, "--out", tmp_path / "small", "--dtype", "int8")
    assert code == 0
    assert "Rank correlation with fp32 0.9" in out or "Rank correlation with fp32 1.0" in out
    found = json.loads(run("encode", model, texts, "--out", tmp_path / "small", "--dtype", "fp16", "--json")[1])
    assert set(found) == {"texts", "dtype", "bytes_a_text", "spearman", "top_10"}
    assert found["texts"] == len(LINES)
    assert found["spearman"] > 0.99


def test_bad_input_is_one_line(run, model, texts, tmp_path):
    (tmp_path / "junk").write_text("no encodings")
    for arguments, said in (
        (["rank", model, "q"], "give one of the two"),
        (["rank", model, "q", texts, "--encoded", texts], "give one of the two"),
        (["rank", model, "q", "--encoded", tmp_path / "junk"], "damaged or holds no encodings"),
        (["rank", model, "q", "--encoded", tmp_path / "nowhere"], "can't be read"),
        (["encode", model, texts, "--out", tmp_path / "x", "--dtype", "int4"], "is none of fp32, fp16, int8"),
        (["encode", model, tmp_path / "nowhere", "--out", tmp_path / "x"], "nowhere"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()
