"""Every model of one table is explained: the words, the grids and the model's own mechanism."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import pairlight.explain
from explain.explained import LEFT, RIGHT, bare_case, explained, matcher
from models.toy import CASES, Case
from pairlight import Matcher
from pairlight.evaluation.calibration import Calibration
from pairlight.explain import attribution
from pairlight.explain.data import Explanation
from pairlight.explain.explain import explain_pair, explain_words
from pairlight.inference.scorer import ModelScorer
from pairlight.layers.basic import Dropout, Linear
from pairlight.layers.embedding import WordEmbedding
from pairlight.layers.interactions import Interaction
from pairlight.layers.layer import Layer
from pairlight.layers.segment_pairs import SegmentPairs
from pairlight.layers.tracing import active_trace
from pairlight.layers.types import Grid, Tokens, masked_grid
from pairlight.models.base import PairModel
from toy_pairs import overlap

# One case of each model, and those with attention gates on both texts.
FIRST = {case.name: case for case in reversed(CASES)}
TABLE = [case for case in CASES if case is FIRST[case.name] or case.settings.get("gate") == "both"]
FORMS = {str(form): form for case in TABLE for form in (case, bare_case(case))}
every_case = pytest.mark.parametrize("case", FORMS.values(), ids=str)

# The tables that models must have in addition to grids and cells.
TABLES = {
    "bm25": {"matched terms"},
    "dssm": {"character n-grams"},
    "cdssm": {"character n-grams", "windows"},
    "duet": {"character n-grams"},
    "deepmatch": {"topics"},
    "anmm": {"bins"},
    "drmm": {"left words"},
    "knrm": {"kernels"},
    "conv-knrm": {"kernels"},
    "match-pyramid": {"pooled cells"},
    "multigran-cnn": {"pooled cells"},
    "urae": {"pooled cells"},
    "arc-ii": {"pooled cells"},
}


def score_without(case: Case, side: str, number: int) -> float:
    """The score of the pair after one word was removed from its text."""
    it = explained(case)
    texts = {"left": LEFT, "right": RIGHT}
    word = getattr(it, side).words[number]
    texts[side] = texts[side][: word.start] + " " + texts[side][word.end :]
    return float(matcher(case).predict([(texts["left"], texts["right"])])[0])


@pytest.mark.filterwarnings("ignore:.* were truncated")
@every_case
def test_the_explained_score_is_the_score(case):
    np.testing.assert_allclose(explained(case).score, matcher(case).predict([(LEFT, RIGHT)])[0], rtol=1e-4, atol=1e-5)


@every_case
def test_words_have_their_positions_in_the_text(case):
    it = explained(case)
    assert [it.left.text[word.start : word.end].lower() for word in it.left.words] == [w.text for w in it.left.words]
    assert [word.text for word in it.right.words] == ["godu", "firi", "mama", "bama", "—", "词", "neverseen", "kusi"]


@pytest.mark.filterwarnings("ignore:.* were truncated")
@every_case
def test_leave_one_out_is_the_score_of_the_text_without_the_word(case):
    it = explained(case)
    contributions = it.contributions_by("leave-one-out")
    assert contributions is not None
    for side, number in (("left", 0), ("left", 6), ("right", 3), ("right", 5), ("right", 6)):
        expected = it.score - score_without(case, side, number)
        np.testing.assert_allclose(getattr(contributions, side)[number], expected, rtol=1e-3, atol=1e-4)


@every_case
def test_the_words_alone_have_the_contributions_of_the_whole_explanation(case):
    it = explained(case)
    left, right, contributions = explain_words(matcher(case).scorer, LEFT, RIGHT)
    assert (left, right) == (it.left, it.right)
    whole = it.contributions_by("leave-one-out")
    for side in ("left", "right"):
        np.testing.assert_allclose(getattr(contributions, side), getattr(whole, side), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["mv-lstm", "late-interaction"])
def test_integrated_gradients_do_not_depend_on_how_many_copies_are_scored_at_a_time(name, monkeypatch):
    case = FIRST[name]
    found = []
    for copies in (7, 1000):
        monkeypatch.setattr(attribution, "COPIES", copies)
        monkeypatch.setattr(attribution, "STEPS", (64,))
        found.append(matcher(case).explain(LEFT, RIGHT).contributions_by("integrated-gradients"))
    for side in ("left", "right"):
        parts, whole = (getattr(each, side) for each in found)
        np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-5)
        assert np.abs(whole).max() > 1e-4


@every_case
def test_integrated_gradients_sum_to_the_score_minus_the_baseline_or_are_left_out(case):
    it = explained(case)
    contributions = it.contributions_by("integrated-gradients")
    if contributions is None:
        assert any("No integrated gradients" in note for note in it.notes)
        return
    left, right = contributions.left, contributions.right
    assert (len(left), len(right)) == (len(it.left.words), len(it.right.words))
    assert contributions.baseline is not None
    assert contributions.residual is not None
    difference = it.score - contributions.baseline
    np.testing.assert_allclose(sum(left) + sum(right) + contributions.residual, difference, rtol=1e-3, atol=1e-4)
    # The contributions of evidence are exact, but may cancel what the residual is a small part of.
    bare = not matcher(case).scorer.model.reads_subwords
    most = abs(difference) if bare else sum(map(abs, (*left, *right)))
    assert abs(contributions.residual) <= 0.1 * most + 1e-5


@every_case
def test_grids_have_a_row_for_each_left_position_and_a_column_for_each_right_one(case):
    it = explained(case)
    layers = matcher(case).scorer.model.without_evidence.all_layers()
    assert bool(it.grids) == any(isinstance(layer, Interaction | SegmentPairs) for layer in layers)
    for grid in it.grids:
        assert np.isfinite(np.array(grid.values)).all()
        assert np.shape(grid.values) == (len(grid.rows), len(grid.columns))
        for labels, text in ((grid.rows, it.left), (grid.columns, it.right)):
            assert all(0 <= label.first < label.end <= len(text.words) for label in labels)
            words = [text.words[label.first].text for label in labels]  # a label has its word, or is a part of it
            assert all(
                word in label.text or label.text.strip() in word for word, label in zip(words, labels, strict=True)
            )


@every_case
def test_top_cells_have_the_values_of_the_grid_and_shares_that_sum_to_at_most_one(case):
    it = explained(case)
    for cell in it.cells:
        assert it.grids[cell.grid].values[cell.i][cell.j] == cell.value
    assert sum(abs(cell.share or 0) for cell in it.cells) <= 1 + 1e-5


@every_case
def test_each_mechanism_has_its_tables_and_attention_weights(case):
    it = explained(case)
    assert TABLES.get(case.name, set()) <= {table.name for table in it.tables}
    for table in it.tables:
        for fact in table.facts:
            assert all(0 <= i < len(it.left.words) for i in fact.left)
            assert all(0 <= j < len(it.right.words) for j in fact.right)
    gated = matcher(case).scorer.model.settings.get("gate", "none")
    sides = {"left": ["left"], "right": ["right"], "both": ["left", "right"]}.get(gated, [])
    attention = next((weights for weights in it.weights if weights.name == "attention"), None)
    assert [side for side in ("left", "right") if attention and getattr(attention, side)] == sides
    for side in sides:
        np.testing.assert_allclose(sum(getattr(attention, side)), 1, rtol=1e-5)


@every_case
def test_an_explanation_read_from_json_is_unchanged(case):
    it = explained(case)
    assert Explanation.from_json(it.to_json()) == it


@pytest.mark.filterwarnings("ignore:.* were truncated")
@every_case
def test_explaining_does_not_change_the_model(case):
    model = matcher(case).scorer.model
    arrays = {name: array.clone() for name, array in model.named_arrays()}
    attributes = [(layer, dict(vars(layer))) for layer in model.all_layers()]
    matcher(case).explain(LEFT, RIGHT)
    matcher(case).nearest(LEFT, RIGHT, overlap(2, seed=3))
    assert active_trace() is None
    assert all(torch.equal(array, arrays[name]) for name, array in model.named_arrays())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert [layer for layer, _ in attributes] == list(model.all_layers())
    for layer, before in attributes:
        assert vars(layer).keys() == before.keys()
        assert all(value is before[name] for name, value in vars(layer).items())


def test_pairs_get_the_same_scores_while_another_thread_explains():
    made = matcher(FIRST["mv-lstm"])
    pairs = [(LEFT, RIGHT), ("bama delo", "kusi bama")] * 9
    scores = made.predict(pairs)
    it, near = made.explain(LEFT, RIGHT), made.nearest(LEFT, RIGHT, overlap(6, seed=3))
    with ThreadPoolExecutor(3) as threads:
        explaining = [threads.submit(lambda: [made.explain(LEFT, RIGHT) for _ in range(10)]) for _ in range(2)]
        searching = threads.submit(lambda: [made.nearest(LEFT, RIGHT, overlap(6, seed=3)) for _ in range(10)])
        while not all(each.done() for each in (*explaining, searching)):
            np.testing.assert_array_equal(made.predict(pairs), scores)
    assert all(found == it for each in explaining for found in each.result())
    assert all(found == near for found in searching.result())


@pytest.mark.parametrize("load_inside", [False, True])
def test_a_pair_has_the_same_explanation_in_inference_mode(load_inside, tmp_path):
    made = matcher(FIRST["mv-lstm"])
    made.save(tmp_path)
    with torch.inference_mode():
        inside = Matcher.load(tmp_path) if load_inside else made
        assert inside.explain(LEFT, RIGHT) == explained(FIRST["mv-lstm"])


def test_the_probability_is_that_of_the_calibration():
    scorer, calibration = matcher(FIRST["mv-lstm"]).scorer, Calibration(slope=2.0, offset=0.5, threshold=0.0)
    it = explain_pair(scorer, LEFT, RIGHT, words=False, calibration=calibration)
    assert it.probability == pytest.approx(1 / (1 + np.exp(-2 * it.score - 0.5)))
    assert explain_pair(scorer, LEFT, RIGHT, words=False).probability is None


@every_case
def test_one_word_texts_and_equal_texts_are_explained(case):
    for left, right in (("bama", "bama"), ("neverseen", "bama delo"), (LEFT, LEFT)):
        it = matcher(case).explain(left, right)
        assert np.isfinite([*it.contributions[0].left, *it.contributions[0].right]).all()


class CustomModel(PairModel):
    """A model of a user: layers of pairlight under other names."""

    def __init__(self, vocab: int) -> None:
        self.vectors = WordEmbedding(vocab, dim=4)
        self.product = InnerProduct()
        self.out = Linear(1, 1)
        self.dropout = Dropout(0.9)

    def forward(self, left: Tokens, right: Tokens) -> torch.Tensor:
        return self.dropout(self.out(self.product(*self.vectors(left, right)).x.sum((2, 3))))[:, 0]


class InnerProduct(Layer):
    def forward(self, u, v) -> Grid:
        return masked_grid(u, v, (u.x @ v.x.mT)[:, None])


def test_a_custom_model_is_explained_as_far_as_its_layers_allow():
    tokenizer = matcher(FIRST["bm25"]).scorer.tokenizer
    model = CustomModel(tokenizer.vocab_size)
    assert model.training
    it = explain_pair(ModelScorer("custom", model, tokenizer, 100), LEFT, RIGHT)
    assert [grid.name for grid in it.grids] == ["inner product"]
    assert [each.method for each in it.contributions] == ["leave-one-out", "integrated-gradients"]
    assert it.cells[0].contribution is not None
    assert not it.notes
    assert not model.training  # without dropout, as when scoring


def test_explanations_depend_on_layers_and_not_on_models():
    source = Path(pairlight.explain.__file__).parent
    imported = {
        name
        for file in source.rglob("*.py")
        for name in re.findall(r"(?:from|import) (pairlight\.models[\w.]*)", file.read_text(encoding="utf-8"))
    }
    assert imported <= {"pairlight.models.base"}
