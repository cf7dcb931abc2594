"""Explanations of mechanisms agree with what the model computes: cells, terms, gates, paths and tables."""

import numpy as np
import pandas as pd
import pytest
import torch

from explain.explained import LEFT, RIGHT, bare_case, explained, matcher
from models.toy import CASES, Case
from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.explain import attribution, trace
from pairlight.explain.backtrace import backtrace, lcs_path
from pairlight.explain.data import FORMAT, Comparison, Explanation
from pairlight.explain.explain import explain_pair
from pairlight.explain.mechanisms import findings
from pairlight.models import MODELS
from toy_pairs import overlap


def case(name: str, **settings: object) -> Case:
    """The first case of a model with these settings, in the form of its paper."""
    return bare_case(next(each for each in CASES if each.name == name and settings.items() <= each.settings.items()))


@pytest.mark.parametrize("interaction", ["cosine", "cosine-per-direction", "tensor"])
def test_the_cells_of_mv_lstm_are_the_k_largest_of_each_channel(interaction):
    it = explained(case("mv-lstm", interaction=interaction))
    for number, grid in enumerate(it.grids):
        largest = sorted((value for row in grid.values for value in row), reverse=True)[:4]
        cells = sorted((cell for cell in it.cells if cell.grid == number), key=lambda cell: cell.rank)
        assert [cell.value for cell in cells] == largest
        assert [cell.rank for cell in cells] == [1, 2, 3, 4]


def test_the_contributions_of_mv_lstm_cells_sum_to_the_score_minus_that_of_an_empty_grid():
    made = matcher(case("mv-lstm", interaction="cosine"))
    it = explained(case("mv-lstm", interaction="cosine"))
    with torch.no_grad():
        baseline = float(made.scorer.model.score(torch.zeros(1, 4))[0])
    np.testing.assert_allclose(sum(cell.contribution for cell in it.cells), it.score - baseline, rtol=0.03, atol=1e-3)
    np.testing.assert_allclose(sum(abs(cell.share) for cell in it.cells), 1, rtol=1e-5)


def test_the_matched_terms_of_bm25_sum_to_its_score():
    it = explained(Case("bm25"))
    (terms,) = it.tables
    assert [fact.label for fact in terms.facts].count("bama") == 2
    assert {fact.label for fact in terms.facts} == {"bama", "firi", "kusi"}
    np.testing.assert_allclose(sum(fact.contribution for fact in terms.facts), it.score, rtol=1e-5)
    for fact in terms.facts:
        assert {it.right.words[j].text for j in fact.right} == {fact.label}


def test_a_long_table_has_one_row_for_the_rest_so_that_its_sum_is_kept(monkeypatch):
    everything = {fact.label: fact.contribution for fact in explained(Case("bm25")).tables[0].facts}
    monkeypatch.setattr(findings, "MAX_FACTS", 2)
    it = matcher(Case("bm25")).explain(LEFT, RIGHT)
    *top, rest = it.tables[0].facts
    assert len(top) == 2
    assert {fact.label for fact in top} <= set(everything)
    assert (rest.label, rest.left, rest.right) == ("2 more", (), ())
    np.testing.assert_allclose(sum(fact.contribution for fact in top) + rest.contribution, it.score, rtol=1e-5)


@pytest.mark.parametrize("idf", [False, True])
def test_the_histograms_and_gates_of_drmm_give_its_score(idf):
    torch.manual_seed(0)
    made = Matcher("drmm", gate="left", idf=idf, dim=6, bins=12, evidence=False)
    made.fit(overlap(12, seed=0), epochs=0, vectors="none", progress=False)
    with torch.no_grad():
        for parameter in made.scorer.model.parameters():
            parameter.normal_(0, 0.4)
    it = made.explain(LEFT, RIGHT)
    (table,) = it.tables
    total = sum(fact.values["histogram"] * fact.values["gate"] for fact in table.facts)
    np.testing.assert_allclose(total, it.score, rtol=1e-4)
    assert all(("idf" in fact.values) == idf for fact in table.facts)


def test_the_character_ngrams_of_dssm_sum_to_the_contributions_of_their_words():
    it = matcher(case("dssm")).explain("bama", "firi")
    (ngrams,) = it.tables
    contributions = it.contributions_by("integrated-gradients")
    assert {fact.label for fact in ngrams.facts if fact.left} == {"#ba", "bam", "ama", "ma#"}
    assert {fact.label for fact in ngrams.facts if fact.right} == {"#fi", "fir", "iri", "ri#"}
    for side in ("left", "right"):
        total = sum(fact.contribution for fact in ngrams.facts if getattr(fact, side))
        np.testing.assert_allclose(total, getattr(contributions, side)[0], rtol=1e-3, atol=1e-5)


def test_the_windows_of_cdssm_and_their_character_ngrams_sum_to_its_score(monkeypatch):
    monkeypatch.setattr(findings, "MAX_FACTS", 1000)
    it = matcher(case("cdssm")).explain("bama delo firi kusi", "godu bama", words=False)
    windows, ngrams = it.tables
    assert (windows.name, ngrams.name) == ("windows", "character n-grams")
    for table in (windows, ngrams):
        np.testing.assert_allclose(sum(fact.contribution for fact in table.facts), it.score, rtol=1e-4)
    assert {fact.label for fact in windows.facts} <= {
        *("bama delo", "bama delo firi", "delo firi kusi", "firi kusi", "godu bama")
    }
    assert sum(fact.values["units"] for fact in windows.facts) == 2 * 6
    assert {"#ba", "elo", "ri#"} <= {fact.label for fact in ngrams.facts}


@pytest.mark.parametrize("name", ["mv-lstm", "match-srnn", "match-pyramid"])
def test_without_integrated_gradients_cells_are_set_to_zero_one_by_one(monkeypatch, name):
    monkeypatch.setattr(attribution, "MAX_RESIDUAL", -1)
    settings = {} if name == "match-srnn" else {"interaction": "tensor"}
    it = matcher(case(name, **settings)).explain(LEFT, RIGHT)
    assert it.cells
    assert sum(abs(cell.contribution) for cell in it.cells) > 0
    np.testing.assert_allclose(sum(abs(cell.share) for cell in it.cells), 1, rtol=1e-4)


def test_replayed_outputs_give_the_same_contributions_as_computed_ones(monkeypatch):
    it = explained(case("mv-lstm"))
    monkeypatch.setattr(trace, "recorded_outputs", lambda *_: {})
    again = matcher(case("mv-lstm")).explain(LEFT, RIGHT)
    computed = [cell.contribution for cell in again.cells]
    np.testing.assert_allclose(computed, [cell.contribution for cell in it.cells], atol=1e-4)


PARSED = "((bama delo) ((firi kusi) (mama godu)))"


def test_urae_reads_brackets_around_a_text_as_its_parse_tree():
    made = matcher(case("urae"))
    it = made.explain(PARSED, RIGHT)
    assert [word.text for word in it.left.words] == ["bama", "delo", "firi", "kusi", "mama", "godu"]
    assert [it.left.text[word.start : word.end] for word in it.left.words] == [word.text for word in it.left.words]
    np.testing.assert_allclose(it.score, made.predict([(PARSED, RIGHT)])[0], rtol=1e-4, atol=1e-5)
    spans = [(row.first, row.end) for row in it.grids[0].rows]
    assert spans == [*((t, t + 1) for t in range(6)), (4, 6), (2, 4), (2, 6), (0, 2), (0, 6)]


def test_leaving_out_a_word_keeps_the_rest_of_the_parse_tree():
    made = matcher(case("urae"))
    it = made.explain(PARSED, RIGHT)
    for t, word in enumerate(it.left.words):
        shorter = PARSED.replace(word.text, "").replace("( ", "(").replace(" )", ")")
        expected = it.score - made.predict([(shorter, RIGHT)])[0]
        np.testing.assert_allclose(it.contributions[0].left[t], expected, rtol=1e-3, atol=1e-4)


def test_other_models_read_brackets_as_words():
    assert matcher(case("bm25")).explain(PARSED, RIGHT).left.words[0].text == "("


def test_the_kernels_of_knrm_sum_to_the_input_of_the_tanh():
    it = explained(case("knrm"))
    (kernels,) = it.tables
    bias = matcher(case("knrm")).scorer.model.score[0].bias.item()
    total = sum(fact.contribution for fact in kernels.facts)
    np.testing.assert_allclose(np.tanh(total + bias), it.score, rtol=1e-4, atol=1e-5)


def test_the_rows_of_urae_are_the_nodes_of_its_tree():
    it = explained(case("urae"))
    words = len(it.left.words)
    spans = [(row.first, row.end) for row in it.grids[0].rows]
    assert spans[:words] == [(t, t + 1) for t in range(words)]
    assert len(spans) == 2 * words - 1
    assert spans[-1] == (0, words)


def test_the_gates_of_match_srnn_sum_to_one_in_every_cell():
    it = explained(case("bi-match-srnn"))
    for direction in ("forward", "backward"):
        gates = [grid.values for grid in it.grids if grid.name.startswith(f"{direction} gate")]
        assert len(gates) == 4
        np.testing.assert_allclose(np.sum(gates, 0), 1, rtol=1e-5)
    forward, backward = it.paths
    last = (len(it.left.words) - 1, len(it.right.words) - 1)
    assert (forward.cells[0], forward.cells[-1]) == (last, (0, 0))
    assert (backward.cells[0], backward.cells[-1]) == ((0, 0), last)


DIAGONAL, ABOVE, BEFORE = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]
GATES = [[DIAGONAL, DIAGONAL, BEFORE], [DIAGONAL, BEFORE, DIAGONAL], [ABOVE, DIAGONAL, BEFORE]]


@pytest.mark.parametrize("gates", [GATES, np.array(GATES)], ids=["lists", "array"])
def test_a_path_follows_the_largest_gate_and_stays_in_the_grid(gates):
    assert backtrace(gates) == ((2, 2), (2, 1), (1, 0), (0, 0))
    assert backtrace(gates, backwards=True) == ((0, 0), (1, 1), (1, 2), (2, 2))


def test_a_path_may_leave_the_grid_with_its_last_step():
    assert backtrace(GATES, leave_grid=True) == ((2, 2), (2, 1), (1, 0), (0, -1))
    assert backtrace([[ABOVE]], leave_grid=True) == ((0, 0), (-1, 0))


def test_the_gate_of_the_new_state_is_added_to_the_diagonal():
    gates = [[[0.2, 0.3, 0.1, 0.0]] * 2, [[0.2, 0.3, 0.1, 0.0], [0.2, 0.3, 0.1, 0.4]]]
    assert backtrace(gates) == ((1, 1), (0, 0))
    assert backtrace(np.array(gates)[..., :3]) == ((1, 1), (0, 1), (0, 0))


def test_the_path_of_the_longest_common_subsequence_follows_matches_then_goes_up():
    assert lcs_path("ABCDE", "FACGD") == ((4, 4), (3, 4), (2, 3), (2, 2), (1, 1), (0, 1), (0, 0))
    assert lcs_path("ABCDE", "FACGD", leave_grid=True) == ((4, 4), (3, 4), (2, 3), (2, 2), (1, 1), (0, 1), (-1, 0))


def test_the_state_of_match_srnn_is_shown_in_the_dimension_with_the_largest_weight():
    it = explained(case("match-srnn"))
    weight = matcher(case("match-srnn")).scorer.model.score.weight[0].detach()
    heaviest = int(weight.abs().argmax())
    name = f"forward state, dimension {heaviest + 1} (weight {float(weight[heaviest]):.2g})"
    assert it.grids[it.main_grid].name == name


def test_without_words_only_the_mechanism_is_explained():
    it = matcher(case("mv-lstm")).explain(LEFT, RIGHT, words=False)
    full = explained(case("mv-lstm"))
    assert not it.contributions
    assert it.grids == full.grids
    assert it.cells == full.cells


def test_several_right_texts_are_sorted_by_score():
    made = matcher(case("mv-lstm", interaction="cosine"))
    texts = ["godu mama", RIGHT, "bama delo"]
    it = made.explain(LEFT, texts)
    scores = made.predict([(LEFT, text) for text in texts])
    assert list(it.order) == np.argsort(-scores, kind="stable").tolist()
    assert [each.right.text for each in it.explanations] == [texts[number] for number in it.order]
    first, second = (each.contributions[0].left for each in it.explanations[:2])
    np.testing.assert_allclose(it.left_differences[0], np.subtract(first, second))
    assert Comparison.from_json(it.to_json()) == it


def test_cells_are_compared_by_their_words():
    made = matcher(case("mv-lstm", interaction="cosine"))
    it = made.explain(LEFT, [RIGHT, "bama delo", "godu"])
    best, *others = it.explanations
    assert len(it.cell_differences) == 2
    for other, differences in zip(others, it.cell_differences, strict=True):
        total = sum(cell.contribution for cell in best.cells) - sum(cell.contribution for cell in other.cells)
        np.testing.assert_allclose(sum(each.contribution for each in differences), total, rtol=1e-4)
        sizes = [abs(each.contribution) for each in differences]
        assert sizes == sorted(sizes, reverse=True)
        for each in differences:
            assert each.left == best.left.words[each.i].text
            columns = [(best, j) for j in each.best_columns] + [(other, j) for j in each.other_columns]
            assert columns
            assert {found.right.words[j].text for found, j in columns} == {each.right}
    (none,) = matcher(case("bm25")).explain(LEFT, [RIGHT, "godu"]).cell_differences
    assert none == ()


def test_truncated_words_are_counted_but_not_explained():
    made = matcher(case("bm25"))
    long = "bama " * (made.scorer.max_length + 3)
    it = made.explain(long, "bama")
    assert (len(it.left.words), it.left.truncated) == (made.scorer.max_length, 3)
    assert "The model reads the first 50 of the 53 words of the left text." in it.notes


@pytest.mark.parametrize("name", ["arc-i", "arc-ii", "duet"])
def test_a_limit_of_the_model_is_in_the_notes(name):
    made = matcher(case(name))
    model = made.scorer.model
    assert model.inputs.max_lengths is not None
    limit = model.settings[model.inputs.max_lengths[1]]
    it = made.explain("bama", "delo " * (limit + 2))
    assert f"The model reads the first {limit} of the {limit + 2} words of the right text." in it.notes


@pytest.mark.parametrize("left", ["", "  "])
def test_an_empty_text_is_refused(left):
    with pytest.raises(InputError, match=r"left text '.*' is empty: give a text with at least one word"):
        matcher(case("bm25")).explain(left, "bama")


def test_a_text_without_words_is_refused():
    with pytest.raises(InputError, match=r"right text '.*' has no words: give a text with at least one word"):
        explain_pair(matcher(case("bm25")).scorer, "bama", " ")


def test_an_empty_list_of_right_texts_is_refused():
    with pytest.raises(InputError, match="no right text"):
        matcher(case("bm25")).explain("bama", [])


@pytest.mark.parametrize("kind", [np.array, pd.Series])
def test_right_texts_may_be_an_array_or_a_series(kind):
    made = matcher(case("bm25"))
    assert made.explain(LEFT, kind([RIGHT, "godu"])) == made.explain(LEFT, [RIGHT, "godu"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not JSON"),
        ("{}", "no format number"),
        ('{"format": 99}', "has format 99, and this version reads format 2: install a newer version"),
        ('{"format": 1}', "has format 1, and this version reads format 2: explain the texts again"),
        ('{"format": 2}', "damaged"),
    ],
)
def test_a_file_that_is_not_an_explanation_is_refused_in_one_line(text, message):
    with pytest.raises(InputError, match=message) as error:
        Explanation.from_json(text)
    assert "\n" not in str(error.value)


def test_the_json_of_an_explanation_has_format_2():
    assert FORMAT == 2
    assert explained(case("bm25")).as_dict()["format"] == 2


def test_every_model_is_in_the_table_of_cases():
    assert {each.name for each in CASES} == set(MODELS)
