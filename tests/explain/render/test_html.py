"""The page is one self-contained file, safe for any text, and works in a real browser."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from explain.browser import needs_chromium, run_in_page
from explain.explained import explained
from models.toy import CASES
from pairlight import InputError
from pairlight.explain.data import (
    AxisLabel,
    Contributions,
    Explanation,
    Fact,
    FactTable,
    GatePath,
    GridView,
    Neighbor,
    ReportCase,
    TextView,
    TopCell,
    WordSpan,
    WordWeights,
)
from pairlight.explain.render.html import LETTERS, explanation_page, report_page


def view(text: str) -> TextView:
    spans = [(found.start(), found.end()) for found in re.finditer(r"\S+", text)]
    return TextView(text, tuple(WordSpan(text[a:b].lower(), a, b, text[a:b] != "rare") for a, b in spans))


def labels(text: TextView) -> tuple[AxisLabel, ...]:
    return tuple(AxisLabel(word.text, t, t + 1) for t, word in enumerate(text.words))


def made(left: str, right: str, channels: int = 2, score: float = 1.5) -> Explanation:
    """An explanation in which a word is most similar to the word at the same position, from the end in channel 2."""
    a, b = view(left), view(right)
    L, R = len(a.words), len(b.words)
    grids = []
    for c in range(channels):
        values = [[1 / (1 + abs(i - (j if c % 2 == 0 else R - 1 - j))) for j in range(R)] for i in range(L)]
        grids.append(GridView(f"tensor {c + 1}", "interaction", labels(a), labels(b), tuple(map(tuple, values))))
    return Explanation(
        "mv-lstm",
        score,
        a,
        b,
        (
            Contributions("leave-one-out", tuple(0.1 * i for i in range(L)), tuple(-0.1 * j for j in range(R))),
            Contributions("integrated-gradients", (0.1,) * L, (0.2,) * R, 0.5, 0.001, "word vectors"),
        ),
        tuple(grids),
        (TopCell(0, 0, 0, 1.0, 1, 0.4, 0.6), TopCell(1, 0, R - 1, 1.0, 1, -0.1, -0.1)),
        (WordWeights("attention", tuple(1 / L for _ in range(L))),),
        (GatePath("forward", tuple((t, t) for t in range(min(L, R)))),),
        (FactTable("topics", "What they add.", (Fact("topic 1", (0,), (1,), 0.3, {"decision": 0.9}),)),),
        ("A note.",),
        0.8,
    )


def data_of(text: str) -> dict:
    return json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def segments_of(text: dict) -> list[tuple]:
    return [(" ", segment, 1) if isinstance(segment, str) else tuple(segment) for segment in text["segments"]]


PLAIN = made("Good rare memory", "good memory stick fails")
EVIL = "</script><script>window.harmed=1</script> <img src=x onerror=harmed=2> &amp; <!-- ' \" \\ \u2028 {{x}}"


def test_a_page_without_explanations_is_refused():
    with pytest.raises(InputError, match="no explanation"):
        explanation_page([])


def test_a_page_loads_nothing_from_the_network():
    text = explanation_page([PLAIN])
    assert "default-src 'none'" in text
    assert not re.search(r"\b(?:src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


def test_no_text_can_end_the_data_or_start_a_script():
    text = explanation_page([made(EVIL, "<!--<script> &lt;")])
    assert text.count("<script") == explanation_page([PLAIN]).count("<script")
    assert text.count("</script") == explanation_page([PLAIN]).count("</script")
    left = data_of(text)["cases"][0]["explanations"][0]["left"]
    assert "".join(gap + written for gap, written, _ in segments_of(left)) + left["tail"] == EVIL
    title = report_page("<b> & </title>", [ReportCase((PLAIN,))])
    assert "<title>&lt;b&gt; &amp; &lt;/title&gt;</title>" in title


def test_a_lone_surrogate_is_escaped():
    text = explanation_page([made("lone \ud83d here", "x")])
    text.encode("utf-8")
    assert "\\ud83d" in text


def fifty() -> Explanation:
    """A pair of 50 × 50 words in 21 channels with two paths, which is more than any model has."""
    words = " ".join(f"Word{n}" for n in range(50))
    grids = tuple(
        replace(grid, name=f"{grid.name} {n}", values=tuple(tuple(-v / 7.3 for v in row) for row in grid.values))
        for n, grid in enumerate(made(words, words, channels=21).grids)
    )
    path = tuple((t, 49) for t in range(50)) + tuple((49, t) for t in range(50))
    cells = tuple(TopCell(n % 21, n // 21, n % 21, 0.123456, 1 + n // 21, 0.0123456, 0.0123456) for n in range(210))
    return replace(
        made(words, words), grids=grids, cells=cells, paths=(GatePath("forward", path), GatePath("backward", path))
    )


def test_fifty_by_fifty_words_in_many_channels_are_below_a_megabyte():
    text = explanation_page([fifty()])
    assert len(text.encode("utf-8")) < 400_000
    assert len(data_of(text)["cases"][0]["explanations"][0]["grids"]) == 21


def test_a_report_of_long_texts_has_one_grid_each_and_is_below_a_megabyte():
    cases = [ReportCase((fifty(), fifty()), f"case {n}", ("negative", "positive"), ("number",)) for n in range(50)]
    text = report_page("Worst", cases)
    assert len(text.encode("utf-8")) < 1_000_000
    shown = [each for case in data_of(text)["cases"] for each in case["explanations"]]
    assert [len(each["grids"]) for each in shown] == [1] * 100
    assert all(cell[0] == 0 for each in shown for cell in each["cells"])
    assert "This page includes 1 of 21 grids to limit its size." in shown[0]["notes"][-1]


def test_the_last_cases_of_a_very_long_report_have_no_grids():
    text = report_page("Worst", [ReportCase((fifty(),), f"case {n}") for n in range(150)])
    assert len(text.encode("utf-8")) < 1_000_000
    kept = [len(case["explanations"][0]["grids"]) for case in data_of(text)["cases"]]
    assert kept == sorted(kept, reverse=True)
    assert 0 < sum(kept) < 150


def unpacked(grid: dict) -> list[float | None]:
    numbers = [LETTERS.index(a) * 90 + LETTERS.index(b) for a, b in zip(*[iter(grid["packed"])] * 2, strict=True)]
    value = [(grid["base"] + number) * grid["times"] / 10 ** grid["digits"] for number in numbers]
    return [None if number == 8099 else each for number, each in zip(numbers, value, strict=True)]


@pytest.mark.parametrize("unit", [1e-30, 1e-6, 0.123, 1.0, 77.7, 1e20])
def test_values_are_rounded_to_about_one_eight_thousandth_of_their_range(unit):
    rng = np.random.default_rng(0)
    values = unit * rng.uniform(-0.3, 1, (3, 4))
    values[0, :2] = 0, unit
    grid = replace(PLAIN.grids[0], values=tuple(map(tuple, values.tolist())))
    back = unpacked(
        data_of(explanation_page([replace(PLAIN, grids=(grid,))]))["cases"][0]["explanations"][0]["grids"][0]
    )
    assert back[0] == 0
    np.testing.assert_allclose(back, values.ravel(), atol=1.3 * unit * 2.5 / 8000)


def test_values_that_are_not_finite_are_empty_and_equal_ones_stay_equal():
    values = ((0.5, float("nan"), -12.0, float("-inf")), (0.0,) * 4, (1.0,) * 4)
    first = data_of(explanation_page([replace(PLAIN, grids=(replace(PLAIN.grids[0], values=values),))]))["cases"][0]
    assert unpacked(first["explanations"][0]["grids"][0]) == [0.5, None, -12, None, 0, 0, 0, 0, 1, 1, 1, 1]
    same = replace(PLAIN.grids[0], values=((0.7,) * 4,) * 3)
    first = data_of(explanation_page([replace(PLAIN, grids=(same,))]))["cases"][0]
    np.testing.assert_allclose(unpacked(first["explanations"][0]["grids"][0]), 0.7)


def test_words_that_share_characters_of_the_text_are_shown_as_the_model_reads_them():
    text = "take ½ now"
    spans = [("take", 0, 4), ("1", 5, 6), ("⁄", 5, 6), ("2", 5, 6), ("now", 7, 10)]
    half = TextView(text, tuple(WordSpan(*each) for each in spans))
    segments = data_of(explanation_page([replace(PLAIN, left=half, grids=(), cells=(), paths=())]))["cases"][0][
        "explanations"
    ][0]
    assert [segment[:2] for segment in segments_of(segments["left"])] == [
        ("", "take"),
        (" ", "1"),
        ("", "⁄"),
        ("", "2"),
        (" ", "now"),
    ]


def test_invisible_characters_are_code_points_on_the_axes():
    one = made("👨 \u200d 👧", "x y z")
    assert [row[0] for row in data_of(explanation_page([one]))["cases"][0]["explanations"][0]["axes"][0]] == [
        "👨",
        "U+200D",
        "👧",
    ]


@needs_chromium
def test_any_text_is_shown_unchanged_and_never_executed(tmp_path):
    texts = [EVIL, "你好，世界！ 我 喜欢 👍🏽 👨‍👩‍👧 don't"]
    script = """return {harmed: window.harmed ?? null, images: document.images.length,
        texts: [...document.querySelectorAll('.text')].map((text) => text.textContent)}"""
    seen = run_in_page(explanation_page([made(*texts)]), script, tmp_path)
    assert seen == {"harmed": None, "images": 0, "texts": texts}


@needs_chromium
def test_a_grid_of_long_texts_is_drawn(tmp_path):
    long = made(" ".join(f"a{n}" for n in range(400)), " ".join(f"b{n}" for n in range(400)), channels=1)
    assert (
        run_in_page(explanation_page([long]), "return document.querySelectorAll('.grid tbody td').length", tmp_path)
        == 400 * 400
    )


HELPERS = """
const words = (side) => [...document.querySelectorAll('.text')[side === 'left' ? 0 : 1].querySelectorAll('.word')];
const those = (side, kind) => words(side).filter((word) => word.classList.contains(kind));
const marked = (kind) => ['left', 'right'].map((side) => those(side, kind).map((word) => word.textContent));
const line = () => document.getElementById('status').textContent;
const over = (element) => element.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
const count = (what) => document.querySelectorAll(what).length;
const chip = (name) => [...document.querySelectorAll('.chip')].find((button) => button.textContent === name);
const cells = () => [...document.querySelectorAll('.grid tbody td')].map((cell) => cell.textContent);
const seen = {};
"""


@needs_chromium
def test_pointer_and_keyboard_highlight_words_in_both_texts(tmp_path):
    script = f"""{HELPERS}
    over(words('left')[2]);
    seen.word = [marked('self'), marked('best'), line()];
    over(words('right')[0]);
    seen.back = [marked('self'), marked('best')[0][0]];
    over(document.querySelectorAll('.grid tbody tr')[1].cells[4]);
    seen.cell = [marked('self'), line()];
    over(document.body);
    seen.nothing = [marked('self'), line()];
    words('left')[0].focus();
    seen.focus = marked('self');
    press('ArrowRight');
    seen.moved = [marked('self'), document.activeElement.getAttribute('aria-label')];
    document.activeElement.click();
    over(words('right')[3]);
    seen.pinned = [marked('self'), document.activeElement.getAttribute('aria-pressed')];
    press('Escape');
    seen.released = marked('self');
    document.querySelector('.grid td[tabindex="0"]').focus();
    seen.grid = document.activeElement.getAttribute('aria-label');
    press('ArrowDown'); press('ArrowRight'); press('End');
    seen.stepped = [document.activeElement.getAttribute('aria-label'), marked('self')];
    document.querySelector('.fact').focus();
    seen.fact = [marked('self'), line()];
    return seen;"""
    assert run_in_page(explanation_page([PLAIN]), script, tmp_path) == {
        "word": [
            [["memory"], []],
            [[], ["memory", "stick", "fails"]],
            "memory (left): adds +0.20 to 1.50 · interacts with right words: stick 1.0, memory 0.50, fails 0.50",
        ],
        "back": [[[], ["good"]], "Good"],
        "cell": [[["rare"], ["fails"]], "rare ↔ fails: 0.333"],
        "nothing": [[[], []], ""],
        "focus": [["Good"], []],
        "moved": [[["rare"], []], "rare, adds +0.10, out of vocabulary"],
        "pinned": [[["rare"], []], "true"],
        "released": [[], []],
        "grid": "good ↔ good: 1.00, top cell 1, adds +0.40, on the forward path",
        "stepped": ["rare ↔ fails: 0.333", [["rare"], ["fails"]]],
        "fact": [[["Good"], ["memory"]], "topic 1, adds +0.30, decision 0.900"],
    }


@needs_chromium
def test_grid_shading_and_marks_can_be_chosen(tmp_path):
    script = f"""{HELPERS}
    const state = () => [...document.querySelectorAll('.chip[aria-pressed="true"]')].map((chip) => chip.textContent);
    seen.before = [state(), cells()[0], count('polyline.path'), count('.ring')];
    chip('tensor 2').focus();
    chip('tensor 2').click();
    seen.channel = [state()[1], cells()[0], document.activeElement.textContent];
    over(words('left')[0]);
    seen.partner = line();
    chip('attention').click();
    seen.shade = [words('left')[0].getAttribute('aria-label'), words('right')[0].classList.contains('plain')];
    chip('integrated gradients').click();
    seen.sum = document.querySelector('.sum').textContent;
    chip('path forward').click();
    chip('top cells').click();
    seen.marks = [count('polyline.path'), count('.ring')];
    document.querySelector('.line').click();
    seen.line = [state()[1], marked('self')];
    return seen;"""
    assert run_in_page(explanation_page([PLAIN]), script, tmp_path) == {
        "before": [["leave one out", "tensor 1", "top cells", "path forward"], "1.00", 1, 1],
        "channel": ["tensor 2", "0.25", "tensor 2"],
        "partner": "Good (left): adds 0 to 1.50 · interacts with right words: fails 1.0, stick 0.50, memory 0.33",
        "shade": ["Good, attention 0.333", True],
        "sum": "Values are the word's share of the difference between the score and a baseline, in which all word "
        "vectors are zero. Score 1.50 = 0.500 (baseline) +1.1 (words) +0.0010 (residual).",
        "marks": [0, 0],
        "line": ["tensor 1", [["Good"], ["good"]]],
    }


@needs_chromium
def test_candidates_are_side_by_side_and_a_left_word_is_highlighted_in_all(tmp_path):
    worse = replace(made("Good rare memory", "bad luck"), score=0.5)
    worse = replace(worse, contributions=(Contributions("leave-one-out", (0.0, 0.0, -0.3), (0.0, 0.0)),))
    script = """
    const cards = [...document.querySelectorAll('article')];
    const tops = cards.map((card) => card.getBoundingClientRect().top);
    cards[0].querySelectorAll('.word')[2].dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
    return {row: tops[0] === tops[1],
        self: [...document.querySelectorAll('.word.self')].map((word) => word.textContent),
        best: cards.map((card) => card.querySelectorAll('.word.best').length),
        why: cards.map((card) => card.querySelector('.why').hidden || card.querySelector('.why').textContent)}"""
    assert run_in_page(explanation_page([PLAIN, worse]), script, tmp_path) == {
        "row": True,
        "self": ["memory", "memory"],
        "best": [3, 1],
        "why": [
            True,
            "1.00 below the best. Left words that contribute more to the best:memory +0.50rare +0.10"
            "Cells with the largest differences:good ↔ good +0.40good ↔ bad −0.40good ↔ fails −0.10good ↔ luck +0.10",
        ],
    }


@needs_chromium
@pytest.mark.parametrize(
    ("scores", "shown", "why"),
    [
        ((8.14098, 8.14121), ["8.1410", "8.1412"], ["0.000230 below the best. ", None]),
        ((0.1 + 2e-9, 0.1), ["0.100000002", "0.100000000"], [None, "0.00000000200 below the best. "]),
        ((8.1, 7.8, 8.1), ["8.10", "7.80", "8.10"], [None, "0.300 below the best. ", "Same score as the best. "]),
    ],
)
def test_nearly_equal_scores_have_enough_digits_and_the_higher_is_the_best(tmp_path, scores, shown, why):
    script = """
    const cards = [...document.querySelectorAll('article')];
    return {shown: cards.map((card) => card.querySelector('.score').textContent),
        why: cards.map((card) => card.querySelector('.why:not([hidden])')?.firstChild.textContent ?? null)}"""
    candidates = [made("Good rare memory", "bad luck", score=score) for score in scores]
    assert run_in_page(explanation_page(candidates), script, tmp_path) == {"shown": shown, "why": why}


@needs_chromium
def test_a_chosen_case_is_shown_before_its_heading_is_focused_and_is_marked_in_every_list(tmp_path):
    categories = [("number",), ("number", "negation"), ("other",)]
    cases = [ReportCase((PLAIN,), f"case {n}", ("role",), each) for n, each in enumerate(categories, 1)]
    script = """
    const focused = [], description = document.getElementById('description');
    description.addEventListener('focus', () => focused.push(description.textContent));
    const current = '.case[aria-current="true"]';
    const marked = () => [...document.querySelectorAll(current)].map((button) => button.dataset.case);
    const filtered = ['number', 'number', 'all', 'negation', 'all'].map((category) => {
        document.querySelector(`[data-category="${category}"]`).click();
        return [...marked(), description.textContent];
    });
    document.querySelectorAll('.case')[2].click();
    const article = document.querySelector('article');
    dispatchEvent(new HashChangeEvent('hashchange'));
    return {filtered, focused, marked: marked(), hash: location.hash, once: article.isConnected};"""
    assert run_in_page(report_page("Errors", cases), script, tmp_path) == {
        "filtered": [["0", "case 1"], ["0", "case 1"], ["0", "case 1"], ["1", "case 2"], ["0", "case 1"]],
        "focused": ["case 3"],
        "marked": ["2"],
        "hash": "#3",
        "once": True,
    }


@needs_chromium
def test_similar_pairs_are_shown_with_the_meaning_of_their_similarity(tmp_path):
    near = [Neighbor("good luck", "good memory", 1.0, 0.7, 0.5, 3, basis) for basis in ("score", "words")]
    script = "return [...document.querySelectorAll('.near')].map((table) => table.previousSibling.textContent)"
    assert run_in_page(explanation_page([replace(PLAIN, nearest=(each,)) for each in near]), script, tmp_path) == [
        "Similarity of the features that enter the score. 1 means that they are equal.",
        "Similarity of the words of both texts. 1 means that they are the same.",
    ]


@needs_chromium
def test_buttons_have_names_and_grids_have_headings_and_one_tab_stop(tmp_path):
    script = """
    const named = (button) => (button.getAttribute('aria-label') ?? button.textContent).trim().length > 0;
    const grid = document.querySelector('table.grid');
    return {unnamed: [...document.querySelectorAll('button')].filter((button) => !named(button)).length,
        role: grid.getAttribute('role'), label: grid.getAttribute('aria-label'),
        headings: [...grid.querySelectorAll('th')].every((th) => ['row', 'col'].includes(th.getAttribute('scope'))),
        ways: [grid, ...document.querySelectorAll('.text')].map((way) => way.querySelectorAll('[tabindex="0"]').length),
        status: document.getElementById('status').getAttribute('role'),
        scales: [...document.querySelectorAll('.scale')].map((scale) => scale.getAttribute('aria-label'))}"""
    assert run_in_page(explanation_page([PLAIN]), script, tmp_path) == {
        "unnamed": 0,
        "role": "grid",
        "label": "tensor 1: left words in rows, right words in columns",
        "headings": True,
        "ways": [1, 1, 1],
        "status": "status",
        "scales": [
            "Color scale of leave one out: from −0.30 to 0.30",
            "Color scale of tensor 1: from 0 to 1.0",
        ],
    }


@needs_chromium
def test_the_page_has_a_dark_theme_and_words_stay_readable(tmp_path):
    # The contrast of text and background by the formula of WCAG; colors are read from a canvas.
    script = """
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const light = (color) => {
      canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
      const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => linear(v / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const shades = [...Array(101).keys()].map((n) => n / 50 - 1).concat(0.619, 0.621, -0.619, -0.621);
    const word = document.querySelector('.word');
    word.classList.remove('plain');
    const worst = Math.min(...shades.map((share) => {
      tint(word, share);
      const style = getComputedStyle(word);
      return contrast(light(style.color), light(style.backgroundColor));
    }));
    return {page: light(getComputedStyle(document.body).backgroundColor), worst}"""
    day = run_in_page(explanation_page([PLAIN]), script, tmp_path)
    night = run_in_page(explanation_page([PLAIN]), script, tmp_path, dark=True)
    assert day["page"] > 0.8
    assert night["page"] < 0.05
    assert min(day["worst"], night["worst"]) >= 4.5


@needs_chromium
def test_every_model_is_shown_with_all_its_grids_and_shadings(tmp_path):
    cases = {case.name: case for case in CASES}.values()
    everything = report_page(
        "All", [ReportCase((explained(case),), description=case.name, categories=("model",)) for case in cases]
    )
    script = """
    return cases.map((each, number) => {
      showCase(number);
      for (const shade of each.explanations[0].shades) choose('shade', shade.name);
      for (const grid of each.explanations[0].grids) {
        choose('grid', grid.name);
        const drawn = document.querySelectorAll('.grid tbody td').length;
        if (drawn !== grid.values.length * grid.values[0].length) throw new Error(each.description + ' ' + grid.name);
      }
      for (const part of document.querySelectorAll('.word, .line, .fact')) highlight(targets.get(part));
      return each.description;
    });"""
    assert run_in_page(everything, script, tmp_path) == [case.name for case in cases]
