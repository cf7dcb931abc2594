"""Explanations in the terminal fit its width, with and without color; the command prints them."""

import io
import re
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console

from explain.explained import LEFT, RIGHT, explained, matcher
from models.toy import CASES
from pairlight import cli
from pairlight.explain.data import Comparison, Explanation
from pairlight.explain.render.terminal import ComparisonView, ExplanationView, shade_words

COSINE = next(case for case in CASES if case.name == "mv-lstm" and case.settings["interaction"] == "cosine")
FIRST = {case.name: case for case in reversed(CASES)}


def printed(view, width: int = 80, **console: object) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, **console).print(view)
    return out.getvalue()


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
@pytest.mark.parametrize("width", [30, 80])
def test_every_explanation_fits_the_width(case, width):
    for colors in (None, "truecolor"):
        out = printed(ExplanationView(explained(case)), width, color_system=colors, force_terminal=colors is not None)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
        assert max(map(cell_len, plain.splitlines())) <= width
        assert ("\x1b[" in out) == (colors is not None)


def test_top_cells_are_listed_with_their_words_and_values():
    it = explained(COSINE)
    cell = next(cell for cell in it.cells if cell.rank == 1)
    expected = f"{it.left.words[cell.i].text} ↔ {it.right.words[cell.j].text} {cell.value:.2f}"
    assert expected in printed(ExplanationView(it))


def test_words_keep_their_original_spelling_and_have_numbers_without_color():
    it = explained(COSINE)
    plain = printed(ExplanationView(it))
    assert LEFT in plain
    values = it.contributions[0].left
    top = max(range(len(values)), key=lambda t: abs(values[t]))
    assert f"{it.left.words[top].text} {values[top]:+.2f}" in plain
    assert "\x1b[" in printed(ExplanationView(it), color_system="truecolor", force_terminal=True)


def test_control_characters_are_replaced_and_do_not_move_the_shading():
    left = "\x1b[m bama\r\ndelo \x9bJ \x07 firi"
    it = matcher(COSINE).explain(left, RIGHT)
    text = shade_words(it.left, [1.0] * len(it.left.words), 1.0, color=True)
    assert {text.plain[span.start : span.end] for span in text.spans} >= {"bama", "delo", "firi"}
    for view in (ExplanationView(it), ComparisonView(matcher(COSINE).explain(RIGHT, [left, "godu"]))):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed(view))


def test_a_wide_grid_is_reduced_to_its_largest_columns_with_a_note():
    it = matcher(COSINE).explain(LEFT, " ".join(["bama delo firi kusi"] * 12))
    out = printed(ExplanationView(it), 40)
    assert re.search(r"\(7 of 7 rows, \d\d of 48 columns\)", out)


def test_a_comparison_lists_the_words_and_cells_that_differ():
    it = matcher(COSINE).explain(LEFT, [RIGHT, "godu"])
    out = printed(ComparisonView(it))
    assert "Left words that contribute more to 1 than to 2: " in out
    first = it.cell_differences[0][0]
    cells = f"     {first.left} ↔ {first.right} {first.contribution:+.2f}"
    assert f"Cells with the largest differences between 1 and 2:\n{cells}" in out
    assert out.index(it.explanations[0].right.text[:20]) < out.index(it.explanations[1].right.text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model")
    matcher(COSINE).save(path)
    return str(path)


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs `pairlight explain` in this process; returns the exit code, standard output and standard error."""

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pairlight", "explain", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return code, *capsys.readouterr()

    return command


def test_the_command_prints_plain_text_to_a_pipe_and_writes_files(run, folder, tmp_path):
    code, out, err = run(folder, LEFT, RIGHT, "--png", str(tmp_path / "a.png"), "--html", str(tmp_path / "a.html"))
    assert code == 0, err
    assert "↔" in out
    assert "\x1b[" not in out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_json_is_read_as_the_same_explanation(run, folder):
    _, out, _ = run(folder, LEFT, RIGHT, "--json")
    assert Explanation.from_json(out) == matcher(COSINE).explain(LEFT, RIGHT)
    _, several, _ = run(folder, LEFT, RIGHT, "godu", "--json")
    assert len(Comparison.from_json(several).explanations) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["", RIGHT], "left text '' is empty"),
        ([LEFT, RIGHT, "--png", "a.jpg"], "does not end in .png"),
        ([LEFT, RIGHT, "--svg", "a.svg", "--grid", "9"], "There is no grid 9: there is only grid 1."),
        ([LEFT, RIGHT, "--html", "a.html", "--grid", "1"], "--grid"),
    ],
)
def test_bad_input_is_one_line(run, folder, arguments, message):
    code, _, err = run(folder, *arguments)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


def test_grids_are_counted_from_one_as_the_help_says(run, folder):
    _, out, _ = run("--help")
    assert "the first is 1" in " ".join(out.split())
    code, _, err = run(folder, LEFT, RIGHT, "--svg", "a.svg", "--grid", "0")
    assert code == 2
    assert "--grid" in err


def test_an_explanation_without_a_grid_has_a_note():
    assert "No grid" in printed(ExplanationView(explained(FIRST["random"])))


def test_similar_training_pairs_are_printed_and_written(run, folder, tmp_path):
    train = tmp_path / "train.tsv"
    train.write_text("left\tright\tlabel\nbama delo\tgodu mama\t1\nsiri <b>\tkusi\t0\n", encoding="utf-8")
    _, out, err = run(folder, LEFT, RIGHT, "--nearest", str(train), "--html", str(tmp_path / "a.html"))
    assert "Most similar training pairs" in out, err
    assert out.index("bama delo\n") < out.index("godu mama")
    near = matcher(COSINE).nearest(LEFT, RIGHT, train)
    assert len(near) == 2
    assert f"similarity {near[0].similarity:.2f}  label {near[0].label:g}  score {near[0].score:.2f}" in out
    assert "siri \\u003cb>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    _, several, _ = run(folder, LEFT, RIGHT, "godu", "--nearest", str(train), "--json")
    assert [len(each.nearest) for each in Comparison.from_json(several).explanations] == [2, 2]
    code, _, err = run(folder, LEFT, RIGHT, "--nearest", str(tmp_path / "none.tsv"))
    assert code == 2
    assert "Traceback" not in err
