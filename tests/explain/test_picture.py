"""The picture: every word on its axes, the cells numbered, the path drawn, small and large, in any script."""

import sys

import pytest

from explain.explained import LEFT, RIGHT, explained, matcher
from models.toy import CASES
from pairlight.errors import InputError
from pairlight.explain.picture import MARK, drawn, picture

pytest.importorskip("matplotlib")
COSINE = next(case for case in CASES if case.name == "mv-lstm" and case.settings["interaction"] == "cosine")
SRNN = next(case for case in CASES if case.name == "match-srnn")


def test_words_stand_on_the_axes_and_cells_are_numbered():
    it = explained(COSINE)
    axes = drawn(it, 0).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [word.text for word in it.left.words]
    assert [label.get_text() for label in axes.get_xticklabels()] == [word.text for word in it.right.words]
    numbers = {(text.get_position(), text.get_text()) for text in axes.texts if text.get_text().isdigit()}
    assert numbers == {((cell.j, cell.i), str(cell.order)) for cell in it.cells}
    assert axes.images[0].get_array().tolist() == [list(row) for row in it.grids[0].values]


def test_the_path_is_drawn_over_the_state():
    it = explained(SRNN)
    axes = drawn(it, it.shown).axes[0]
    (line,) = [line for line in axes.lines if line.get_color() == MARK]
    assert list(zip(line.get_ydata(), line.get_xdata(), strict=True)) == list(it.paths[0].cells)


@pytest.mark.parametrize("form", ["png", "svg"])
def test_chinese_emoji_and_dollars_are_drawn_without_a_warning(form, tmp_path):
    it = matcher(COSINE).explain("鳄鱼 🐊 lives $x$ a_b^c", "🐊 在 $5 $6")
    picture(it, tmp_path / f"a.{form}")
    content = (tmp_path / f"a.{form}").read_bytes()
    assert content.startswith(b"\x89PNG") if form == "png" else "鳄" in content.decode("utf-8")


def test_fifty_by_fifty_words_have_letters_that_can_be_read(tmp_path):
    it = matcher(COSINE).explain("bama delo " * 25, "firi kusi " * 25)
    figure = drawn(it, 0)
    assert figure.axes[0].get_yticklabels()[0].get_fontsize() >= 8
    picture(it, tmp_path / "a.png")


def test_the_same_explanation_gives_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        picture(explained(COSINE), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_any_grid_can_be_drawn_and_none_that_is_not_there(tmp_path):
    it = explained(SRNN)
    picture(it, tmp_path / "gate.png", grid=len(it.grids) - 1)
    with pytest.raises(InputError, match="There is no grid 100"):
        picture(it, tmp_path / "no.png", grid=99)
    with pytest.raises(InputError, match="makes no grid"):
        picture(explained(next(case for case in CASES if case.name == "bm25")), tmp_path / "no.png")
    assert not (tmp_path / "no.png").exists()


def test_without_matplotlib_the_remedy_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'pairlight\[plots\]'"):
        picture(matcher(COSINE).explain(LEFT, RIGHT), tmp_path / "a.png")
