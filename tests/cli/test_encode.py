"""`pairlight encode`: texts encoded once are ranked like the texts themselves."""

import json

import pytest

from toy_pairs import overlap

PAIRS = overlap(12, seed=0)
LINES = [PAIRS.texts[i] for i in PAIRS.right]


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(LINES) + "\n\n", encoding="utf-8")
    return path


def test_encoded_texts_are_ranked_like_the_texts_themselves(run, model, texts, tmp_path):
    stored = tmp_path / "texts.safetensors"
    code, out, _ = run("encode", model, texts, "--out", stored)
    assert (code, out) == (0, f"Encoded {len(LINES)} texts to {stored}: 0.3 kB per text\n")
    assert run("rank", model, LINES[0], "--encoded", stored)[1] == run("rank", model, LINES[0], texts)[1]
    assert len(run("rank", model, "bama", "--encoded", stored, "--top", "2")[1].splitlines()) == 2


def test_lower_precision_is_compared_with_fp32(run, model, texts, tmp_path):
    code, out, _ = run("encode", model, texts, "--out", tmp_path / "small", "--dtype", "int8")
    assert code == 0
    assert "Agreement with fp32: rank correlation 0.9" in out or "Agreement with fp32: rank correlation 1.0" in out
    found = json.loads(run("encode", model, texts, "--out", tmp_path / "small", "--dtype", "fp16", "--json")[1])
    assert set(found) == {"texts", "dtype", "bytes_per_text", "agreement"}
    assert found["texts"] == len(LINES)
    assert found["agreement"]["spearman"] > 0.99
    found = json.loads(run("encode", model, texts, "--out", tmp_path / "full", "--json")[1])
    assert found["agreement"] is None


def test_bad_input_is_one_line(run, model, texts, tmp_path):
    (tmp_path / "junk").write_text("no encodings")
    for arguments, words in (
        (["rank", model, "q", "--encoded", tmp_path / "junk"], "damaged, or not a file of encodings"),
        (["rank", model, "q", "--encoded", tmp_path / "nowhere"], "cannot be read"),
        (["encode", model, texts, "--out", tmp_path / "x", "--dtype", "int4"], "is not one of fp32, fp16, int8"),
        (["encode", model, tmp_path / "nowhere", "--out", tmp_path / "x"], "nowhere"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert words in err
        assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()
