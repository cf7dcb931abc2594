"""Images have every word on the axes, numbered top cells and the path, for small and large grids in any script."""

import sys

import numpy as np
import pytest

from explain.explained import LEFT, RIGHT, explained, matcher
from models.toy import CASES
from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.explain.backtrace import backtrace
from pairlight.explain.render import fonts
from pairlight.explain.render.image import (
    MARK,
    LcsExample,
    draw_explanation,
    draw_lcs_figure,
    grid_figure,
    lcs_example,
    lcs_figure,
)
from toy_pairs import overlap

pytest.importorskip("matplotlib")
COSINE = next(case for case in CASES if case.name == "mv-lstm" and case.settings["interaction"] == "cosine")
SRNN = next(case for case in CASES if case.name == "match-srnn")


def test_words_are_on_the_axes_and_top_cells_are_numbered():
    it = explained(COSINE)
    axes = grid_figure(it, 0).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [word.text for word in it.left.words]
    assert [label.get_text() for label in axes.get_xticklabels()] == [word.text for word in it.right.words]
    numbers = {(text.get_position(), text.get_text()) for text in axes.texts if text.get_text().isdigit()}
    assert numbers == {((cell.j, cell.i), str(cell.rank)) for cell in it.cells}
    assert axes.images[0].get_array().tolist() == [list(row) for row in it.grids[0].values]


def test_the_path_is_drawn_over_the_state():
    it = explained(SRNN)
    axes = grid_figure(it, it.main_grid).axes[0]
    (line,) = [line for line in axes.lines if line.get_color() == MARK]
    assert list(zip(line.get_ydata(), line.get_xdata(), strict=True)) == list(it.paths[0].cells)


def test_the_states_of_both_directions_are_drawn_side_by_side():
    it = explained(next(case for case in CASES if case.name == "bi-match-srnn"))
    panels = [axes for axes in grid_figure(it, it.main_grid, both=True).axes if axes.lines]
    assert [len(axes.lines) for axes in panels] == [1, 1]
    for axes, path in zip(panels, it.paths, strict=True):
        (line,) = axes.lines
        assert list(zip(line.get_ydata(), line.get_xdata(), strict=True)) == list(path.cells)


@pytest.fixture(scope="module")
def counter() -> Matcher:
    """A model that could count a longest common subsequence, with random weights."""
    settings = {"interaction": "indicator", "hidden": 1, "reset_gates": False, "activation": "relu", "dim": 1}
    return Matcher("match-srnn", **settings).fit(overlap(5, seed=0), epochs=0, vectors="none", progress=False)


def frames(axes) -> np.ndarray:
    """The framed cells of a panel."""
    return np.array([(patch.get_y() + 0.44, patch.get_x() + 0.44) for patch in axes.patches])


TABLE_PATH = [(4, 4), (3, 4), (2, 3), (2, 2), (1, 1), (0, 1), (0, 0)]


def test_a_model_that_counts_common_words_is_drawn_as_table_states_and_gates(counter, tmp_path):
    it = counter.explain("A B C D E", "F A C G D")
    table, states, gates = lcs_figure(lcs_example(it)).axes
    assert table.images[0].get_array()[-1].tolist() == [0, 1, 2, 2, 3]
    assert [text.get_text() for text in table.texts if text.get_fontweight() == "bold"] == ["1", "2", "3"]
    np.testing.assert_allclose(frames(table), TABLE_PATH, atol=1e-9)
    np.testing.assert_allclose(frames(states), it.paths[0].cells, atol=1e-9)
    assert len(gates.texts) == 3 * 25
    draw_explanation(it, tmp_path / "lcs.png")
    assert lcs_example(explained(SRNN)) is None


def test_the_path_of_a_state_of_one_dimension_counts_the_new_state_with_the_diagonal(counter):
    it = counter.explain("A B C D E", "F A C G D")
    example = lcs_example(it)
    assert it.paths[0].cells == example.path == backtrace(example.gates)


def test_the_lcs_figure_is_drawn_from_plain_data(tmp_path):
    gates = np.full((5, 5, 4), 0.25)
    example = LcsExample("ABCDE", "FACGD", np.arange(25.0).reshape(5, 5), gates, [(4, 4), (3, 3)])
    table, states, panel = lcs_figure(example, ["A caption."]).axes
    np.testing.assert_allclose(frames(table), TABLE_PATH, atol=1e-9)
    np.testing.assert_allclose(frames(states), [(4, 4), (3, 3)], atol=1e-9)
    assert {text.get_text() for text in panel.texts} == {"0.5", "0.2"}  # the diagonal with the new state, the others
    assert [label.get_text() for label in table.get_yticklabels()] == list("ABCDE")
    assert any(
        text.get_text().startswith("A caption.\nthe longest common subsequence has length 3") for text in table.texts
    )
    draw_lcs_figure(tmp_path / "lcs.svg", example)
    assert "<svg" in (tmp_path / "lcs.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(("word", "rotation"), [("memory", 55), ("词", 0)])
def test_words_are_rotated_and_single_letters_are_upright(word, rotation):
    it = matcher(COSINE).explain("bama delo", f"{word} delo")
    assert grid_figure(it, 0).axes[0].get_xticklabels()[0].get_rotation() == rotation


def test_a_note_names_the_package_to_install_for_characters_without_a_font(monkeypatch):
    monkeypatch.setattr(fonts, "_installed", dict)
    monkeypatch.setattr(fonts, "_color_font", lambda: None)
    it = matcher(COSINE).explain("鳄 lives", "🐊 bama")
    families, missing = fonts.fonts_for("鳄lives🐊")
    assert families == ["DejaVu Sans"]
    notes = [text.get_text() for text in grid_figure(it, 0, missing).axes[0].texts]
    note = "No installed font has U+9CC4, U+1F40A: install fonts-noto-cjk and fonts-noto-color-emoji (Debian)"
    assert any(note in each for each in notes)


def test_invisible_characters_are_shown_as_code_points():
    it = matcher(COSINE).explain("👍\u200d bama", "bama")
    assert "U+200D" in [label.get_text() for label in grid_figure(it, 0).axes[0].get_yticklabels()]


@pytest.mark.skipif(fonts.emoji("🐊") is None, reason="no color emoji font: install fonts-noto-color-emoji")
def test_emoji_without_another_font_are_drawn_as_images():
    it = matcher(COSINE).explain("🐊 lives", "bama delo")
    axes = grid_figure(it, 0, frozenset("🐊")).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["", "lives"]
    (image,) = [artist for artist in axes.artists if hasattr(artist, "offsetbox")]
    assert image.offsetbox.get_data().shape[2] == 4
    assert not any("No installed font" in text.get_text() for text in axes.texts)


def test_chinese_is_drawn_in_a_chinese_font_if_one_is_installed():
    families, missing = fonts.fonts_for("鳄鱼 lives")
    if missing:
        pytest.skip("no Chinese font: install fonts-noto-cjk")
    assert families[0] == "DejaVu Sans"
    assert families[1] == "Noto Sans CJK SC" or "Noto Sans CJK SC" not in fonts._installed()


@pytest.mark.parametrize("form", ["png", "svg"])
def test_chinese_emoji_and_dollars_are_drawn_without_a_warning(form, tmp_path):
    it = matcher(COSINE).explain("鳄鱼 🐊 lives $x$ a_b^c", "🐊 在 $5 $6")
    draw_explanation(it, tmp_path / f"a.{form}")
    content = (tmp_path / f"a.{form}").read_bytes()
    assert content.startswith(b"\x89PNG") if form == "png" else "鳄" in content.decode("utf-8")


def test_the_labels_of_fifty_by_fifty_words_are_readable(tmp_path):
    it = matcher(COSINE).explain("bama delo " * 25, "firi kusi " * 25)
    figure = grid_figure(it, 0)
    assert figure.axes[0].get_yticklabels()[0].get_fontsize() >= 8
    draw_explanation(it, tmp_path / "a.png")


def test_the_same_explanation_gives_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        draw_explanation(explained(COSINE), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_any_grid_can_be_drawn_by_its_index(tmp_path):
    it = explained(SRNN)
    draw_explanation(it, tmp_path / "gate.png", grid=len(it.grids) - 1)
    with pytest.raises(
        InputError, match=r"There is no grid 100: this explanation has \d grids, so choose 1 to \d"
    ) as error:
        draw_explanation(it, tmp_path / "no.png", grid=99)
    assert error.value.option == "grid"
    with pytest.raises(InputError, match=r"must end in \.png or \.svg"):
        draw_explanation(it, tmp_path / "no.jpg")
    with pytest.raises(InputError, match="bm25 has no grid to draw"):
        draw_explanation(explained(next(case for case in CASES if case.name == "bm25")), tmp_path / "no.png")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["gate.png"]


def test_without_matplotlib_the_error_names_the_package_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'pairlight\[plots\]'"):
        draw_explanation(matcher(COSINE).explain(LEFT, RIGHT), tmp_path / "a.png")
