"""The terminal's lines: as wide as the terminal, in colour and without, and the command that prints them."""

import io
import re
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console

from explain.explained import LEFT, RIGHT, explained, matcher
from models.toy import CASES, Case
from pairlight import cli
from pairlight.explain.data import Comparison, Explanation
from pairlight.explain.render.terminal import Ranked, Shown, shaded

COSINE = next(case for case in CASES if case.name == "mv-lstm" and case.settings["interaction"] == "cosine")
FIRST = {case.name: case for case in reversed(CASES)}


def printed(what, width: int = 80, **console: object) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, **console).print(what)
    return out.getvalue()


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
@pytest.mark.parametrize("width", [30, 80])
def test_every_explanation_fits_the_width(case, width):
    for colours in (None, "truecolor"):
        out = printed(Shown(explained(case)), width, color_system=colours, force_terminal=colours is not None)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
        assert max(map(cell_len, plain.splitlines())) <= width
        assert ("\x1b[" in out) == (colours is not None)


def test_cells_are_named_as_in_the_paper():
    it = explained(COSINE)
    cell = next(cell for cell in it.cells if cell.order == 1)
    pair = f"{it.left.words[cell.i].text} ↔ {it.right.words[cell.j].text} {cell.value:.2f}"
    assert pair in printed(Shown(it))


def test_words_are_shaded_in_their_original_writing_and_numbered_without_colour():
    it = explained(COSINE)
    plain = printed(Shown(it))
    assert LEFT in plain
    adds = it.contributions[0].left
    strongest = max(range(len(adds)), key=lambda t: abs(adds[t]))
    assert f"{it.left.words[strongest].text} {adds[strongest]:+.2f}" in plain
    assert "\x1b[" in printed(Shown(it), color_system="truecolor", force_terminal=True)


def test_control_characters_of_a_text_reach_no_terminal_and_move_no_shade():
    left = "\x1b[m bama\r\ndelo \x9bJ \x07 firi"
    it = matcher(COSINE).explain(left, RIGHT)
    text = shaded(it.left, [1.0] * len(it.left.words), 1.0, coloured=True)
    assert {text.plain[span.start : span.end] for span in text.spans} >= {"bama", "delo", "firi"}
    for what in (Shown(it), Ranked(matcher(COSINE).explain(RIGHT, [left, "godu"]))):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed(what))


def test_a_wide_grid_shows_its_strongest_columns_and_says_so():
    it = matcher(COSINE).explain(LEFT, " ".join(["bama delo firi kusi"] * 12))
    out = printed(Shown(it), 40)
    assert re.search(r"\(7 of 7 rows, \d\d of 48 columns\)", out)


def test_a_comparison_tells_what_does_more_for_the_best():
    it = matcher(COSINE).explain(LEFT, [RIGHT, "godu"])
    out = printed(Ranked(it))
    assert "Left words that do more for 1 than for 2" in out
    first = it.cells[0][0]
    assert (
        f"Cells that make the difference between 1 and 2:\n     {first.left} ↔ {first.right} {first.adds:+.2f}" in out
    )
    assert out.index(it.explanations[0].right.text[:20]) < out.index(it.explanations[1].right.text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model")
    matcher(COSINE).save(path)
    return str(path)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `pairlight explain ...` in this process; give the exit code, standard output and standard error."""

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pairlight", "explain", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return code, *capsys.readouterr()

    return command


def test_the_command_prints_plain_text_into_a_pipe_and_draws_and_writes(run, folder, tmp_path):
    code, out, err = run(folder, LEFT, RIGHT, "--png", str(tmp_path / "a.png"), "--html", str(tmp_path / "a.html"))
    assert code == 0, err
    assert "↔" in out
    assert "\x1b[" not in out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_json_comes_back_as_the_same_explanation(run, folder):
    _, out, _ = run(folder, LEFT, RIGHT, "--json")
    assert Explanation.from_json(out) == matcher(COSINE).explain(LEFT, RIGHT)
    _, several, _ = run(folder, LEFT, RIGHT, "godu", "--json")
    assert len(Comparison.from_json(several).explanations) == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["", RIGHT], "has no word"),
        ([LEFT, RIGHT, "--png", "a.jpg"], "does not end in .png"),
        ([LEFT, RIGHT, "--svg", "a.svg", "--grid", "9"], "There is no grid 9"),
        ([LEFT, RIGHT, "--html", "a.html", "--grid", "1"], "give one of them too"),
    ],
)
def test_bad_input_is_one_line(run, folder, arguments, complaint):
    code, _, err = run(folder, *arguments)
    assert code == 2
    assert complaint in err
    assert "Traceback" not in err


def test_grids_are_counted_from_one_as_the_help_says(run, folder):
    _, out, _ = run("--help")
    assert "the first is 1" in " ".join(out.split())
    code, _, err = run(folder, LEFT, RIGHT, "--svg", "a.svg", "--grid", "0")
    assert code == 2
    assert "--grid" in err


def test_a_case_without_a_grid_still_prints():
    assert "No grid" in printed(Shown(explained(Case("random"))))


def test_the_nearest_training_pairs_are_printed_written_and_drawn(run, folder, tmp_path):
    train = tmp_path / "train.tsv"
    train.write_text("left\tright\tlabel\nbama delo\tgodu mama\t1\nsiri <b>\tkusi\t0\n", encoding="utf-8")
    _, out, err = run(folder, LEFT, RIGHT, "--nearest", str(train), "--html", str(tmp_path / "a.html"))
    assert "Training pairs most like this one" in out, err
    assert out.index("bama delo\n") < out.index("godu mama")
    near = matcher(COSINE).nearest(LEFT, RIGHT, train)
    assert len(near) == 2
    assert f"like {near[0].likeness:.2f}  label {near[0].label:g}  score {near[0].score:.2f}" in out
    assert "siri \\u003cb>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    _, several, _ = run(folder, LEFT, RIGHT, "godu", "--nearest", str(train), "--json")
    assert [len(each.nearest) for each in Comparison.from_json(several).explanations] == [2, 2]
    code, _, err = run(folder, LEFT, RIGHT, "--nearest", str(tmp_path / "none.tsv"))
    assert code == 2
    assert "Traceback" not in err
