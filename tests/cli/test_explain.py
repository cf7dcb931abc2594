"""`pairlight explain`: an explanation in the terminal, as JSON, as an image and as a page."""

import json

import pytest

from pairlight import Comparison, Explanation


def test_a_pair_is_explained_in_the_terminal(run, model):
    code, out, _ = run("explain", model, "bama delo", "delo firi")
    assert code == 0
    assert "mv-lstm" in out
    assert "bama" in out
    assert "firi" in out


def test_an_explanation_as_json_can_be_read_again(run, model):
    found = Explanation.from_json(run("explain", model, "bama delo", "delo firi", "--json")[1])
    assert found.model == "mv-lstm"
    assert found.right.text == "delo firi"


def test_several_right_texts_are_compared(run, model):
    texts = ["delo firi", "bama godu", "kusi tama"]
    found = Comparison.from_json(run("explain", model, "bama delo", *texts, "--json")[1])
    assert sorted(each.right.text for each in found.explanations) == sorted(texts)
    code, out, _ = run("explain", model, "bama delo", *texts)
    assert code == 0
    assert all(word in out for text in texts for word in text.split())


def test_images_and_pages_are_written(run, model, tmp_path):
    png, svg, html = (tmp_path / f"e.{name}" for name in ("png", "svg", "html"))
    files = ["--png", png, "--svg", svg, "--html", html]
    code, out, _ = run("explain", model, "bama delo", "delo firi", *files, "--grid", "1")
    assert code == 0
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text()
    assert "<html" in html.read_text()
    assert [line for line in out.splitlines() if line.startswith("Written to ")] == [
        f"Written to {each}" for each in (png, svg, html)
    ]


def test_similar_training_pairs_are_shown(run, model, data):
    arguments = ["explain", model, "bama delo", "delo firi", "--nearest", data]
    found = json.loads(run(*arguments, "--json")[1])
    assert len(found["nearest"]) == 5
    assert found["nearest"][0]["left"] in run(*arguments)[1]


def test_similar_training_pairs_are_shown_in_a_comparison(run, model, data):
    arguments = ["explain", model, "bama delo", "delo firi", "godu kusi", "--nearest", data]
    found = Comparison.from_json(run(*arguments, "--json")[1])
    assert all(len(each.nearest) == 5 for each in found.explanations)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--png", "e.jpg"], "e.jpg does not end in .png: rename it. (option --png)"),
        (["--svg", "e.png"], "e.png does not end in .svg: rename it. (option --svg)"),
        (["--html", "e"], "e does not end in .html: rename it. (option --html)"),
        (["--grid", "2"], "--grid selects the grid that --png or --svg draws"),
        (["--png", "e.png", "--grid", "99"], "(option --grid)"),
        (["--nearest", "nowhere.tsv"], "nowhere.tsv"),
        (["--nearest", "other.tsv"], "Name the columns left, right and label. (option --nearest)"),
    ],
)
def test_bad_options_are_one_line(fails, model, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.tsv").write_text("q\ta\ty\nbama\tdelo\t1\n", encoding="utf-8")
    fails(["explain", model, "bama", "delo", *options], words)
    assert [path.name for path in tmp_path.iterdir()] == ["other.tsv"]


def test_a_text_without_words_is_one_line(fails, model):
    fails(["explain", model, "bama", " "], "right text")
