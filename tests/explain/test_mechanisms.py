"""What a mechanism says must be what the model did: cells, terms, gates and paths against the model's own numbers."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import torch

from explain.explained import LEFT, RIGHT, explained, matcher
from models.toy import CASES, Case
from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.explain import mechanisms, stages
from pairlight.explain.data import Comparison, Explanation
from pairlight.explain.mechanisms import backtraced
from pairlight.models import MODELS
from toy_pairs import overlap


def case(name: str, **settings: object) -> Case:
    return next(each for each in CASES if each.name == name and settings.items() <= each.settings.items())


@pytest.mark.parametrize("interaction", ["cosine", "cosine-per-direction", "tensor"])
def test_the_cells_of_mv_lstm_are_the_k_largest_of_each_channel(interaction):
    it = explained(case("mv-lstm", interaction=interaction))
    for place, grid in enumerate(it.grids):
        largest = sorted((value for row in grid.values for value in row), reverse=True)[:4]
        cells = sorted((cell for cell in it.cells if cell.grid == place), key=lambda cell: cell.order)
        assert [cell.value for cell in cells] == largest
        assert [cell.order for cell in cells] == [1, 2, 3, 4]


def test_what_the_cells_of_mv_lstm_add_makes_up_the_score():
    made = matcher(case("mv-lstm", interaction="cosine"))
    it = explained(case("mv-lstm", interaction="cosine"))
    with torch.no_grad():
        nothing = float(made.model.score(torch.zeros(1, 4))[0])
    np.testing.assert_allclose(sum(cell.adds for cell in it.cells), it.score - nothing, rtol=0.03, atol=1e-3)
    np.testing.assert_allclose(sum(abs(cell.share) for cell in it.cells), 1, rtol=1e-5)


def test_the_matched_terms_of_bm25_add_up_to_its_score():
    it = explained(Case("bm25"))
    (terms,) = it.tables
    assert [fact.label for fact in terms.facts].count("bama") == 2
    assert {fact.label for fact in terms.facts} == {"bama", "firi", "kusi"}
    np.testing.assert_allclose(sum(fact.adds for fact in terms.facts), it.score, rtol=1e-5)
    for fact in terms.facts:
        assert {it.right.words[j].text for j in fact.right} == {fact.label}


def test_a_table_that_is_cut_tells_of_the_others_together_so_that_its_sum_stays_whole(monkeypatch):
    whole = {fact.label: fact.adds for fact in explained(Case("bm25")).tables[0].facts}
    monkeypatch.setattr(mechanisms, "MOST", 2)
    it = matcher(Case("bm25")).explain(LEFT, RIGHT)
    *told, rest = it.tables[0].facts
    assert len(told) == 2
    assert {fact.label for fact in told} <= set(whole)
    assert (rest.label, rest.left, rest.right) == ("2 more", (), ())
    np.testing.assert_allclose(sum(fact.adds for fact in told) + rest.adds, it.score, rtol=1e-5)


@pytest.mark.parametrize("idf", [False, True])
def test_drmm_tells_the_say_that_each_word_really_has(idf):
    torch.manual_seed(0)
    made = Matcher("drmm", gate="left", idf=idf, dim=6, bins=12)
    made.fit(overlap(12, seed=0), epochs=0, vectors="none", progress=False)
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.normal_(0, 0.4)
    it = made.explain(LEFT, RIGHT)
    (table,) = it.tables
    together = sum(fact.values["histogram"] * fact.values["gate"] for fact in table.facts)
    np.testing.assert_allclose(together, it.score, rtol=1e-4)


def test_the_letters_of_dssm_add_up_to_what_the_words_add():
    it = matcher(case("dssm")).explain("bama", "firi")
    (letters,) = it.tables
    adds = it.by("integrated-gradients")
    assert {fact.label for fact in letters.facts if fact.left} == {"#ba", "bam", "ama", "ma#"}
    assert {fact.label for fact in letters.facts if fact.right} == {"#fi", "fir", "iri", "ri#"}
    for side in ("left", "right"):
        total = sum(fact.adds for fact in letters.facts if getattr(fact, side))
        np.testing.assert_allclose(total, getattr(adds, side)[0], rtol=1e-3, atol=1e-5)


def test_the_windows_of_cdssm_and_the_letters_in_them_add_up_to_its_score(monkeypatch):
    monkeypatch.setattr(mechanisms, "MOST", 1000)
    it = matcher(case("cdssm")).explain("bama delo firi kusi", "godu bama", words=False)
    windows, letters = it.tables
    assert (windows.name, letters.name) == ("windows", "letters")
    for table in (windows, letters):
        np.testing.assert_allclose(sum(fact.adds for fact in table.facts), it.score, rtol=1e-4)
    assert {fact.label for fact in windows.facts} <= {
        *("bama delo", "bama delo firi", "delo firi kusi", "firi kusi", "godu bama")
    }
    assert sum(fact.values["units"] for fact in windows.facts) == 2 * 6
    assert {"#ba", "elo", "ri#"} <= {fact.label for fact in letters.facts}


@pytest.mark.parametrize("name", ["mv-lstm", "match-srnn", "match-pyramid"])
def test_a_grid_that_does_not_add_up_has_its_cells_weighed_one_by_one(monkeypatch, name):
    monkeypatch.setattr(stages, "MISSING", -1)
    settings = {} if name == "match-srnn" else {"interaction": "tensor"}
    it = matcher(case(name, **settings)).explain(LEFT, RIGHT)
    assert it.cells
    assert sum(abs(cell.adds) for cell in it.cells) > 0
    np.testing.assert_allclose(sum(abs(cell.share) for cell in it.cells), 1, rtol=1e-4)


def test_a_stage_replayed_is_the_stage_computed(monkeypatch):
    it = explained(case("mv-lstm"))
    monkeypatch.setattr(stages, "replayed", lambda *_: nullcontext())
    again = matcher(case("mv-lstm")).explain(LEFT, RIGHT)
    np.testing.assert_allclose([cell.adds for cell in again.cells], [cell.adds for cell in it.cells], atol=1e-4)


PARSED = "((bama delo) ((firi kusi) (mama godu)))"


def test_brackets_around_a_text_are_its_parse_to_urae():
    made = matcher(case("urae"))
    it = made.explain(PARSED, RIGHT)
    assert [word.text for word in it.left.words] == ["bama", "delo", "firi", "kusi", "mama", "godu"]
    assert [it.left.text[word.start : word.end] for word in it.left.words] == [word.text for word in it.left.words]
    np.testing.assert_allclose(it.score, made.predict([(PARSED, RIGHT)])[0], rtol=1e-4, atol=1e-5)
    spans = [(row.first, row.end) for row in it.grids[0].rows]
    assert spans == [*((t, t + 1) for t in range(6)), (4, 6), (2, 4), (2, 6), (0, 2), (0, 6)]


def test_a_word_left_out_of_a_parse_leaves_the_rest_of_the_parse_as_it_was():
    made = matcher(case("urae"))
    it = made.explain(PARSED, RIGHT)
    for place, word in enumerate(it.left.words):
        shorter = PARSED.replace(word.text, "").replace("( ", "(").replace(" )", ")")
        expected = it.score - made.predict([(shorter, RIGHT)])[0]
        np.testing.assert_allclose(it.contributions[0].left[place], expected, rtol=1e-3, atol=1e-4)


def test_a_text_in_brackets_is_just_words_to_other_models():
    assert matcher(case("bm25")).explain(PARSED, RIGHT).left.words[0].text == "("


def test_the_kernels_of_knrm_add_up_to_what_is_under_the_tanh():
    it = explained(case("knrm"))
    made = matcher(case("knrm"))
    (kernels,) = it.tables
    bias = made.model.score[0].bias.item()
    np.testing.assert_allclose(np.tanh(sum(fact.adds for fact in kernels.facts) + bias), it.score, rtol=1e-4, atol=1e-5)


def test_the_rows_of_urae_are_the_nodes_of_a_tree():
    it = explained(case("urae"))
    words = len(it.left.words)
    spans = [(row.first, row.end) for row in it.grids[0].rows]
    assert spans[:words] == [(t, t + 1) for t in range(words)]
    assert len(spans) == 2 * words - 1
    assert spans[-1] == (0, words)


def test_the_gates_of_match_srnn_share_one_whole_in_every_cell():
    it = explained(case("bi-match-srnn"))
    for way in ("forward", "backward"):
        gates = [grid.values for grid in it.grids if grid.name.startswith(f"{way} gate")]
        np.testing.assert_allclose(np.sum(gates, 0), 1, rtol=1e-5)
    forward, backward = it.paths
    last = (len(it.left.words) - 1, len(it.right.words) - 1)
    assert (forward.cells[0], forward.cells[-1]) == (last, (0, 0))
    assert (backward.cells[0], backward.cells[-1]) == ((0, 0), last)


def test_a_path_follows_the_largest_gate_and_stays_inside():
    d, t, b = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]
    gates = [[d, d, b], [d, b, d], [t, d, b]]
    assert backtraced(gates) == ((2, 2), (2, 1), (1, 0), (0, 0))
    assert backtraced(gates, backwards=True) == ((0, 0), (1, 1), (1, 2), (2, 2))


def test_the_state_of_match_srnn_that_is_shown_weighs_most_in_the_score():
    it = explained(case("match-srnn"))
    weight = matcher(case("match-srnn")).model.score.weight[0].detach()
    heaviest = int(weight.abs().argmax())
    name = f"forward state, dimension {heaviest + 1} (weight {float(weight[heaviest]):.2g})"
    assert it.grids[it.shown].name == name


def test_without_words_only_the_mechanism_is_told():
    it = matcher(case("mv-lstm")).explain(LEFT, RIGHT, words=False)
    full = explained(case("mv-lstm"))
    assert not it.contributions
    assert it.grids == full.grids
    assert it.cells == full.cells


def test_several_right_texts_are_compared_best_first():
    made = matcher(case("mv-lstm", interaction="cosine"))
    texts = ["godu mama", RIGHT, "bama delo"]
    it = made.explain(LEFT, texts)
    scores = made.predict([(LEFT, text) for text in texts])
    assert list(it.order) == np.argsort(-scores, kind="stable").tolist()
    assert [each.right.text for each in it.explanations] == [texts[place] for place in it.order]
    first, second = (each.contributions[0].left for each in it.explanations[:2])
    np.testing.assert_allclose(it.left[0], np.subtract(first, second))
    assert Comparison.from_json(it.to_json()) == it


def test_the_cells_that_make_the_difference_are_those_of_the_same_words_in_both():
    made = matcher(case("mv-lstm", interaction="cosine"))
    it = made.explain(LEFT, [RIGHT, "bama delo", "godu"])
    best, *others = it.explanations
    assert len(it.cells) == 2
    for other, apart in zip(others, it.cells, strict=True):
        total = sum(cell.adds for cell in best.cells) - sum(cell.adds for cell in other.cells)
        np.testing.assert_allclose(sum(each.adds for each in apart), total, rtol=1e-4)
        assert [abs(each.adds) for each in apart] == sorted((abs(each.adds) for each in apart), reverse=True)
        for each in apart:
            assert each.left == it.explanations[0].left.words[each.i].text
            columns = [(best, j) for j in each.best] + [(other, j) for j in each.other]
            assert columns
            assert {found.right.words[j].text for found, j in columns} == {each.right}
    (none,) = matcher(case("bm25")).explain(LEFT, [RIGHT, "godu"]).cells
    assert none == ()


def test_words_beyond_the_limit_are_counted_and_not_explained():
    made = matcher(case("bm25"))
    long = "bama " * (made.options.max_length + 3)
    it = made.explain(long, "bama")
    assert (len(it.left.words), it.left.cut) == (made.options.max_length, 3)
    assert "The left text has 3 words more than the 50 that the model reads." in it.notes


@pytest.mark.parametrize("name", ["arc-i", "arc-ii", "duet"])
def test_words_beyond_a_models_own_limit_are_told(name):
    made = matcher(case(name))
    model, _ = made.ready
    assert model.reads is not None
    most = model.settings[model.reads[1]]
    it = made.explain("bama", "delo " * (most + 2))
    assert f"The right text has 2 words more than the {most} that the model reads." in it.notes


@pytest.mark.parametrize("left", ["", "  "])
def test_a_text_without_words_is_refused(left):
    with pytest.raises(InputError, match=r"left text '.*' has no word"):
        matcher(case("bm25")).explain(left, "bama")


def test_no_right_text_at_all_is_refused():
    with pytest.raises(InputError, match="no right text"):
        matcher(case("bm25")).explain("bama", [])


@pytest.mark.parametrize("held", [np.array, pd.Series])
def test_right_texts_may_come_as_an_array_or_a_series(held):
    made = matcher(case("bm25"))
    assert made.explain(LEFT, held([RIGHT, "godu"])) == made.explain(LEFT, [RIGHT, "godu"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("[", "no JSON"), ("{}", "no format number"), ('{"format": 99}', "install a newer"), ('{"format": 1}', "damaged")],
)
def test_what_is_no_explanation_is_refused_in_one_line(text, complaint):
    with pytest.raises(InputError, match=complaint):
        Explanation.from_json(text)


def test_every_model_stands_in_the_table_of_cases():
    assert {each.name for each in CASES} == set(MODELS)
