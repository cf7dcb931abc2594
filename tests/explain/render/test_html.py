"""The page: one file, safe with any text, right in a real browser."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from explain.browser import found, needs_chromium
from explain.explained import explained
from models.toy import CASES
from pairlight import InputError
from pairlight.explain.data import (
    Cell,
    Contributions,
    Explanation,
    Fact,
    Grid,
    Neighbour,
    Path,
    Side,
    Span,
    Table,
    Weights,
    Word,
)
from pairlight.explain.render.html import LETTERS, Case, page, report


def side(text: str) -> Side:
    places = [(found.start(), found.end()) for found in re.finditer(r"\S+", text)]
    return Side(text, tuple(Word(text[a:b].lower(), a, b, text[a:b] != "rare") for a, b in places))


def spans(side: Side) -> tuple[Span, ...]:
    return tuple(Span(word.text, place, place + 1) for place, word in enumerate(side.words))


def made(left: str, right: str, channels: int = 2, score: float = 1.5) -> Explanation:
    """An explanation in which every word is most like the word at its own place, counted from the end in channel 2."""
    a, b = side(left), side(right)
    L, R = len(a.words), len(b.words)
    grids = []
    for c in range(channels):
        likeness = [[1 / (1 + abs(i - (j if c % 2 == 0 else R - 1 - j))) for j in range(R)] for i in range(L)]
        grids.append(Grid(f"tensor {c + 1}", "interaction", spans(a), spans(b), tuple(map(tuple, likeness))))
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
        (Cell(0, 0, 0, 1.0, 1, 0.4, 0.6), Cell(1, 0, R - 1, 1.0, 1, -0.1, -0.1)),
        (Weights("attention", tuple(1 / L for _ in range(L))),),
        (Path("forward", tuple((t, t) for t in range(min(L, R)))),),
        (Table("topics", "What they add.", (Fact("topic 1", (0,), (1,), 0.3, {"decision": 0.9}),)),),
        ("A note.",),
        0.8,
    )


def data_of(text: str) -> dict:
    return json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def pieces_of(side: dict) -> list[tuple]:
    return [(" ", piece, 1) if isinstance(piece, str) else tuple(piece) for piece in side["pieces"]]


PLAIN = made("Good rare memory", "good memory stick fails")
EVIL = "</script><script>window.harmed=1</script> <img src=x onerror=harmed=2> &amp; <!-- ' \" \\ \u2028 {{x}}"


def test_a_page_of_nothing_is_refused():
    with pytest.raises(InputError, match="no explanation"):
        page([])


def test_a_page_asks_for_nothing_from_the_network():
    text = page([PLAIN])
    assert "default-src 'none'" in text
    assert not re.search(r"\b(?:src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest", text)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


def test_no_text_can_end_the_data_or_begin_a_script():
    text = page([made(EVIL, "<!--<script> &lt;")])
    assert text.count("<script") == page([PLAIN]).count("<script")
    assert text.count("</script") == page([PLAIN]).count("</script")
    left = data_of(text)["cases"][0]["explanations"][0]["left"]
    assert "".join(gap + written for gap, written, _ in pieces_of(left)) + left["tail"] == EVIL
    title = report("<b> & </title>", [Case((PLAIN,))])
    assert "<title>&lt;b&gt; &amp; &lt;/title&gt;</title>" in title


def test_half_a_letter_can_still_be_written():
    text = page([made("lone \ud83d here", "x")])
    text.encode("utf-8")
    assert "\\ud83d" in text


def fifty() -> Explanation:
    """A pair of 50 × 50 words in 21 channels with a path both ways, as Bi-Match-SRNN has it and more."""
    words = " ".join(f"Word{n}" for n in range(50))
    grids = tuple(
        replace(grid, name=f"{grid.name} {n}", values=tuple(tuple(-v / 7.3 for v in row) for row in grid.values))
        for n, grid in enumerate(made(words, words, channels=21).grids)
    )
    path = tuple((t, 49) for t in range(50)) + tuple((49, t) for t in range(50))
    cells = tuple(Cell(n % 21, n // 21, n % 21, 0.123456, 1 + n // 21, 0.0123456, 0.0123456) for n in range(210))
    return replace(made(words, words), grids=grids, cells=cells, paths=(Path("forward", path), Path("backward", path)))


def test_fifty_words_by_fifty_in_many_channels_stay_under_a_megabyte():
    text = page([fifty()])
    assert len(text.encode("utf-8")) < 400_000
    assert len(data_of(text)["cases"][0]["explanations"][0]["grids"]) == 21


def test_a_report_of_long_texts_keeps_a_grid_of_each_and_stays_under_a_megabyte():
    cases = [Case((fifty(), fifty()), f"case {n}", ("wrong", "right"), ("number",)) for n in range(50)]
    text = report("Worst", cases)
    assert len(text.encode("utf-8")) < 1_000_000
    shown = [each for case in data_of(text)["cases"] for each in case["explanations"]]
    assert [len(each["grids"]) for each in shown] == [1] * 100
    assert all(cell[0] == 0 for each in shown for cell in each["cells"])
    assert "To keep this page small, 1 of 21 grids are shown" in shown[0]["notes"][-1]


def test_the_last_cases_of_an_endless_report_go_without_grids():
    text = report("Worst", [Case((fifty(),), f"case {n}") for n in range(150)])
    assert len(text.encode("utf-8")) < 1_000_000
    kept = [len(case["explanations"][0]["grids"]) for case in data_of(text)["cases"]]
    assert kept == sorted(kept, reverse=True)
    assert 0 < sum(kept) < 150


def unpacked(grid: dict) -> list[float | None]:
    numbers = [LETTERS.index(a) * 90 + LETTERS.index(b) for a, b in zip(*[iter(grid["packed"])] * 2, strict=True)]
    value = [(grid["base"] + number) * grid["times"] / 10 ** grid["digits"] for number in numbers]
    return [None if number == 8099 else each for number, each in zip(numbers, value, strict=True)]


@pytest.mark.parametrize("unit", [1e-30, 1e-6, 0.123, 1.0, 77.7, 1e20])
def test_values_come_back_as_they_were_but_for_the_eight_thousandth_part_of_their_range(unit):
    rng = np.random.default_rng(0)
    values = unit * rng.uniform(-0.3, 1, (3, 4))
    values[0, :2] = 0, unit
    grid = replace(PLAIN.grids[0], values=tuple(map(tuple, values.tolist())))
    back = unpacked(data_of(page([replace(PLAIN, grids=(grid,))]))["cases"][0]["explanations"][0]["grids"][0])
    assert back[0] == 0
    np.testing.assert_allclose(back, values.ravel(), atol=1.3 * unit * 2.5 / 8000)


def test_values_that_are_not_finite_are_left_empty_and_equal_ones_stay_equal():
    values = ((0.5, float("nan"), -12.0, float("-inf")), (0.0,) * 4, (1.0,) * 4)
    first = data_of(page([replace(PLAIN, grids=(replace(PLAIN.grids[0], values=values),))]))["cases"][0]
    assert unpacked(first["explanations"][0]["grids"][0]) == [0.5, None, -12, None, 0, 0, 0, 0, 1, 1, 1, 1]
    same = replace(PLAIN.grids[0], values=((0.7,) * 4,) * 3)
    first = data_of(page([replace(PLAIN, grids=(same,))]))["cases"][0]
    np.testing.assert_allclose(unpacked(first["explanations"][0]["grids"][0]), 0.7)


def test_words_that_share_letters_of_the_text_are_shown_as_the_model_reads_them():
    text = "take ½ now"
    words = (Word("take", 0, 4), Word("1", 5, 6), Word("⁄", 5, 6), Word("2", 5, 6), Word("now", 7, 10))
    half = Side(text, words)
    pieces = data_of(page([replace(PLAIN, left=half, grids=(), cells=(), paths=())]))["cases"][0]["explanations"][0]
    assert [piece[:2] for piece in pieces_of(pieces["left"])] == [
        ("", "take"),
        (" ", "1"),
        ("", "⁄"),
        ("", "2"),
        (" ", "now"),
    ]


def test_marks_that_cannot_be_seen_are_named_on_the_axes():
    one = made("👨 \u200d 👧", "x y z")
    assert [row[0] for row in data_of(page([one]))["cases"][0]["explanations"][0]["axes"][0]] == ["👨", "U+200D", "👧"]


@needs_chromium
def test_any_text_is_shown_as_it_was_written_and_runs_nothing(tmp_path):
    texts = [EVIL, "你好，世界！ 我 喜欢 👍🏽 👨‍👩‍👧 don't"]
    script = """return {harmed: window.harmed ?? null, images: document.images.length,
        texts: [...document.querySelectorAll('.text')].map((text) => text.textContent)}"""
    seen = found(page([made(*texts)]), script, tmp_path)
    assert seen == {"harmed": None, "images": 0, "texts": texts}


@needs_chromium
def test_a_grid_of_long_texts_is_drawn(tmp_path):
    long = made(" ".join(f"a{n}" for n in range(400)), " ".join(f"b{n}" for n in range(400)), channels=1)
    assert found(page([long]), "return document.querySelectorAll('.grid tbody td').length", tmp_path) == 400 * 400


LOOK = """
const words = (side) => [...document.querySelectorAll('.text')[side === 'left' ? 0 : 1].querySelectorAll('.word')];
const those = (side, kind) => words(side).filter((word) => word.classList.contains(kind));
const lit = (kind) => ['left', 'right'].map((side) => those(side, kind).map((word) => word.textContent));
const line = () => document.getElementById('tell').textContent;
const over = (element) => element.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
const count = (what) => document.querySelectorAll(what).length;
const chip = (name) => [...document.querySelectorAll('.chip')].find((button) => button.textContent === name);
const cells = () => [...document.querySelectorAll('.grid tbody td')].map((cell) => cell.textContent);
const moments = {};
"""


@needs_chromium
def test_pointing_and_walking_light_up_partners_in_both_texts(tmp_path):
    script = f"""{LOOK}
    over(words('left')[2]);
    moments.word = [lit('self'), lit('best'), line()];
    over(words('right')[0]);
    moments.back = [lit('self'), lit('best')[0][0]];
    over(document.querySelectorAll('.grid tbody tr')[1].cells[4]);
    moments.cell = [lit('self'), line()];
    over(document.body);
    moments.nothing = [lit('self'), line()];
    words('left')[0].focus();
    moments.focus = lit('self');
    press('ArrowRight');
    moments.walked = [lit('self'), document.activeElement.getAttribute('aria-label')];
    document.activeElement.click();
    over(words('right')[3]);
    moments.held = [lit('self'), document.activeElement.getAttribute('aria-pressed')];
    press('Escape');
    moments.free = lit('self');
    document.querySelector('.grid td[tabindex="0"]').focus();
    moments.grid = document.activeElement.getAttribute('aria-label');
    press('ArrowDown'); press('ArrowRight'); press('End');
    moments.stepped = [document.activeElement.getAttribute('aria-label'), lit('self')];
    document.querySelector('.fact').focus();
    moments.fact = [lit('self'), line()];
    return moments;"""
    moments = found(page([PLAIN]), script, tmp_path)
    assert moments == {
        "word": [
            [["memory"], []],
            [[], ["memory", "stick", "fails"]],
            "memory (left): adds +0.20 to 1.50 · partners on the right: stick 1.0, memory 0.50, fails 0.50",
        ],
        "back": [[[], ["good"]], "Good"],
        "cell": [[["rare"], ["fails"]], "rare ↔ fails: 0.333"],
        "nothing": [[[], []], ""],
        "focus": [["Good"], []],
        "walked": [[["rare"], []], "rare, adds +0.10, a word the model has never seen"],
        "held": [[["rare"], []], "true"],
        "free": [[], []],
        "grid": "good ↔ good: 1.00, strongest number 1, adds +0.40, on the forward path",
        "stepped": ["rare ↔ fails: 0.333", [["rare"], ["fails"]]],
        "fact": [[["Good"], ["memory"]], "topic 1, adds +0.30, decision 0.900"],
    }


@needs_chromium
def test_channel_mechanism_and_marks_can_be_switched(tmp_path):
    script = f"""{LOOK}
    const state = () => [...document.querySelectorAll('.chip[aria-pressed="true"]')].map((chip) => chip.textContent);
    moments.before = [state(), cells()[0], count('polyline.path'), count('.ring')];
    chip('tensor 2').focus();
    chip('tensor 2').click();
    moments.channel = [state()[1], cells()[0], document.activeElement.textContent];
    over(words('left')[0]);
    moments.partner = line();
    chip('attention').click();
    moments.shade = [words('left')[0].getAttribute('aria-label'), words('right')[0].classList.contains('plain')];
    chip('integrated gradients').click();
    moments.sum = document.querySelector('.sum').textContent;
    chip('path forward').click();
    chip('strongest cells').click();
    moments.marks = [count('polyline.path'), count('.ring')];
    document.querySelector('.line').click();
    moments.line = [state()[1], lit('self')];
    return moments;"""
    assert found(page([PLAIN]), script, tmp_path) == {
        "before": [["leave one out", "tensor 1", "strongest cells", "path forward"], "1.00", 1, 1],
        "channel": ["tensor 2", "0.25", "tensor 2"],
        "partner": "Good (left): adds 0 to 1.50 · partners on the right: fails 1.0, stick 0.50, memory 0.33",
        "shade": ["Good, attention 0.333", True],
        "sum": "The word's part of the score's distance from its baseline, where all word vectors are zero. "
        "Score 1.50 = baseline 0.500 +1.1 by words +0.0010 not explained.",
        "marks": [0, 0],
        "line": ["tensor 1", [["Good"], ["good"]]],
    }


@needs_chromium
def test_candidates_stand_side_by_side_and_a_query_word_lights_in_all(tmp_path):
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
    assert found(page([PLAIN, worse]), script, tmp_path) == {
        "row": True,
        "self": ["memory", "memory"],
        "best": [3, 1],
        "why": [
            True,
            "1.00 below the best. Left words that add more to the best one:memory +0.50rare +0.10"
            "Cells that make the difference:good ↔ good +0.40good ↔ bad −0.40good ↔ fails −0.10good ↔ luck +0.10",
        ],
    }


@needs_chromium
@pytest.mark.parametrize(
    ("scores", "shown", "why"),
    [
        ((8.14098, 8.14121), ["8.1410", "8.1412"], ["0.000230 below the best. ", None]),
        ((0.1 + 2e-9, 0.1), ["0.100000002", "0.100000000"], [None, "0.00000000200 below the best. "]),
        ((8.1, 7.8, 8.1), ["8.10", "7.80", "8.10"], [None, "0.300 below the best. ", "Level with the best. "]),
    ],
)
def test_scores_that_are_nearly_equal_are_told_apart_and_the_higher_is_the_best(tmp_path, scores, shown, why):
    script = """
    const cards = [...document.querySelectorAll('article')];
    return {shown: cards.map((card) => card.querySelector('.score').textContent),
        why: cards.map((card) => card.querySelector('.why:not([hidden])')?.firstChild.textContent ?? null)}"""
    candidates = [made("Good rare memory", "bad luck", score=score) for score in scores]
    assert found(page(candidates), script, tmp_path) == {"shown": shown, "why": why}


@needs_chromium
def test_a_chosen_case_is_there_when_its_heading_is_focused_and_stays_marked_in_every_list(tmp_path):
    kinds = [("number",), ("number", "negation"), ("other",)]
    cases = [Case((PLAIN,), f"case {n}", ("role",), kind) for n, kind in enumerate(kinds, 1)]
    script = """
    const heard = [], about = document.getElementById('about');
    about.addEventListener('focus', () => heard.push(about.textContent));
    const marked = () => [...document.querySelectorAll('.pick[aria-current="true"]')].map((pick) => pick.dataset.case);
    const filtered = ['number', 'number', 'all', 'negation', 'all'].map((kind) => {
        document.querySelector(`[data-kind="${kind}"]`).click();
        return [...marked(), about.textContent];
    });
    document.querySelectorAll('.pick')[2].click();
    const article = document.querySelector('article');
    dispatchEvent(new HashChangeEvent('hashchange'));
    return {filtered, heard, marked: marked(), hash: location.hash, once: article.isConnected};"""
    assert found(report("Mistakes", cases), script, tmp_path) == {
        "filtered": [["0", "case 1"], ["0", "case 1"], ["0", "case 1"], ["1", "case 2"], ["0", "case 1"]],
        "heard": ["case 3"],
        "marked": ["2"],
        "hash": "#3",
        "once": True,
    }


@needs_chromium
def test_the_nearest_pairs_are_told_with_what_makes_them_alike(tmp_path):
    near = [Neighbour("good luck", "good memory", 1.0, 0.7, 0.5, 3, by) for by in ("score", "words")]
    script = "return [...document.querySelectorAll('.near')].map((table) => table.previousSibling.textContent)"
    assert found(page([replace(PLAIN, nearest=(each,)) for each in near]), script, tmp_path) == [
        "By what enters the model's score: 1 where it makes the same of both pairs.",
        "By the words of either side: 1 where both pairs have the same.",
    ]


@needs_chromium
def test_every_button_has_a_name_every_grid_its_headings_and_one_way_in(tmp_path):
    script = """
    const named = (button) => (button.getAttribute('aria-label') ?? button.textContent).trim().length > 0;
    const grid = document.querySelector('table.grid');
    return {unnamed: [...document.querySelectorAll('button')].filter((button) => !named(button)).length,
        role: grid.getAttribute('role'), label: grid.getAttribute('aria-label'),
        headings: [...grid.querySelectorAll('th')].every((th) => ['row', 'col'].includes(th.getAttribute('scope'))),
        ways: [grid, ...document.querySelectorAll('.text')].map((way) => way.querySelectorAll('[tabindex="0"]').length),
        status: document.getElementById('tell').getAttribute('role'),
        scales: [...document.querySelectorAll('.scale')].map((scale) => scale.getAttribute('aria-label'))}"""
    assert found(page([PLAIN]), script, tmp_path) == {
        "unnamed": 0,
        "role": "grid",
        "label": "tensor 1: left words in rows, right words in columns",
        "headings": True,
        "ways": [1, 1, 1],
        "status": "status",
        "scales": [
            "Colour scale of leave one out: from −0.30 to 0.30",
            "Colour scale of tensor 1: from 0 to 1.0",
        ],
    }


@needs_chromium
def test_the_page_follows_a_dark_desktop_and_words_stay_readable(tmp_path):
    # The contrast of letters and ground by the formula of WCAG; colours are read back from a canvas.
    script = """
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const light = (colour) => {
      canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
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
    day = found(page([PLAIN]), script, tmp_path)
    night = found(page([PLAIN]), script, tmp_path, dark=True)
    assert day["page"] > 0.8
    assert night["page"] < 0.05
    assert min(day["worst"], night["worst"]) >= 4.5


@needs_chromium
def test_every_model_is_drawn_in_all_its_channels_and_shades(tmp_path):
    cases = {case.name: case for case in CASES}.values()
    everything = report("All", [Case((explained(case),), about=case.name, kinds=("model",)) for case in cases])
    script = """
    return cases.map((each, number) => {
      show(number);
      for (const shade of each.explanations[0].shades) choose('shade', shade.name);
      for (const grid of each.explanations[0].grids) {
        choose('grid', grid.name);
        const drawn = document.querySelectorAll('.grid tbody td').length;
        if (drawn !== grid.values.length * grid.values[0].length) throw new Error(each.about + ' ' + grid.name);
      }
      for (const part of document.querySelectorAll('.word, .line, .fact')) light(targets.get(part));
      return each.about;
    });"""
    assert found(everything, script, tmp_path) == [case.name for case in cases]
