"""The picture: every word on its axes, the cells numbered, the path drawn, small and large, in any script."""

import sys

import numpy as np
import pytest

from explain.explained import LEFT, RIGHT, explained, matcher
from models.toy import CASES
from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.explain import fonts
from pairlight.explain.render.image import MARK, counts_lcs, drawn, figure_4, picture
from pairlight.experiments.lcs import look
from toy_pairs import overlap

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


def test_a_state_scanned_both_ways_is_drawn_both_ways():
    it = explained(next(case for case in CASES if case.name == "bi-match-srnn"))
    panels = [axes for axes in drawn(it, it.shown, both=True).axes if axes.lines]
    assert [len(axes.lines) for axes in panels] == [1, 1]
    for axes, path in zip(panels, it.paths, strict=True):
        (line,) = axes.lines
        assert list(zip(line.get_ydata(), line.get_xdata(), strict=True)) == list(path.cells)


@pytest.fixture(scope="module")
def counts() -> Matcher:
    """A model of the form that counts a longest common subsequence, its weights at random."""
    settings = {"interaction": "indicator", "hidden": 1, "reset_gates": False, "activation": "relu", "dim": 1}
    return Matcher("match-srnn", **settings).fit(overlap(5, seed=0), epochs=0, vectors="none", progress=False)


def test_a_model_that_counts_common_words_is_drawn_as_table_states_and_gates(counts, tmp_path):
    it = counts.explain("A B C D E", "F A C G D")
    assert counts_lcs(it)
    table, states, gates = figure_4(it).axes
    assert table.images[0].get_array()[-1].tolist() == [0, 1, 2, 2, 3]
    assert [text.get_text() for text in table.texts if text.get_fontweight() == "bold"] == ["1", "2", "3"]
    framed = [(patch.get_y() + 0.44, patch.get_x() + 0.44) for patch in table.patches]
    np.testing.assert_allclose(framed, [(4, 4), (3, 4), (2, 3), (2, 2), (1, 1), (0, 1), (0, 0)], atol=1e-9)
    framed = [(patch.get_y() + 0.44, patch.get_x() + 0.44) for patch in states.patches]
    np.testing.assert_allclose(framed, it.paths[0].cells, atol=1e-9)
    assert len(gates.texts) == 3 * 25
    picture(it, tmp_path / "lcs.png")
    assert not counts_lcs(explained(SRNN))


def test_the_path_of_a_state_of_one_number_is_that_of_the_lcs_experiment(counts):
    left, right = ["A", "B", "C", "D", "E"], ["F", "A", "C", "G", "D"]
    seen = look(counts.model, counts.tokenizer.encode(["A B C D E", "F A C G D"], 50), left, right, 5)
    inside = [(i - 1, j - 1) for i, j in seen["path"] if i and j]
    assert list(counts.explain("A B C D E", "F A C G D").paths[0].cells[: len(inside)]) == inside


@pytest.mark.parametrize(("word", "turned"), [("memory", 55), ("词", 0)])
def test_long_words_are_turned_and_single_letters_stand_upright(word, turned):
    it = matcher(COSINE).explain("bama delo", f"{word} delo")
    assert drawn(it, 0).axes[0].get_xticklabels()[0].get_rotation() == turned


def test_letters_that_no_font_has_are_named_with_the_package_that_has_them(monkeypatch):
    monkeypatch.setattr(fonts, "_installed", dict)
    monkeypatch.setattr(fonts, "_coloured", lambda: None)
    it = matcher(COSINE).explain("鳄 lives", "🐊 bama")
    families, missing = fonts.fonts_for("鳄lives🐊")
    assert families == ["DejaVu Sans"]
    notes = [text.get_text() for text in drawn(it, 0, missing).axes[0].texts]
    note = "no font here has U+9CC4, U+1F40A: install fonts-noto-cjk and fonts-noto-color-emoji (Debian's names)"
    assert any(note in each for each in notes)


def test_marks_without_a_shape_are_named():
    it = matcher(COSINE).explain("👍\u200d bama", "bama")
    assert "U+200D" in [label.get_text() for label in drawn(it, 0).axes[0].get_yticklabels()]


@pytest.mark.skipif(fonts.emoji("🐊") is None, reason="no font of coloured emoji: install fonts-noto-color-emoji")
def test_emoji_that_no_other_font_has_are_drawn_as_images():
    it = matcher(COSINE).explain("🐊 lives", "bama delo")
    axes = drawn(it, 0, frozenset("🐊")).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["", "lives"]
    (image,) = [artist for artist in axes.artists if hasattr(artist, "offsetbox")]
    assert image.offsetbox.get_data().shape[2] == 4
    assert not any("no font" in text.get_text() for text in axes.texts)


def test_chinese_is_drawn_in_a_chinese_font_where_there_is_one():
    families, missing = fonts.fonts_for("鳄鱼 lives")
    if missing:
        pytest.skip("no font of Chinese: install fonts-noto-cjk")
    assert families[0] == "DejaVu Sans"
    assert families[1] == "Noto Sans CJK SC" or "Noto Sans CJK SC" not in fonts._installed()


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
