"""Every model is explained, out of one table: its words, its grids and its own mechanism."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from explain.explained import LEFT, RIGHT, explained, matcher
from models.toy import CASES, Case
from pairlight import Matcher
from pairlight.explain.explain import explain_pair
from pairlight.explain.data import Explanation
from pairlight.explain.trace import apart
from pairlight.models.base import PairModel
from pairlight.layers.types import Grid, Tokens, grid_of
from pairlight.layers.embedding import Words
from toy_pairs import overlap

# One of each model, and those whose words are weighed on both sides.
FIRST = {case.name: case for case in reversed(CASES)}
TABLE = [case for case in CASES if case is FIRST[case.name] or case.settings.get("gate") == "both"]
every_case = pytest.mark.parametrize("case", TABLE, ids=str)

# What each model's own mechanism must say, beside grids and cells.
OWN = {
    "bm25": {"matched terms"},
    "dssm": {"letters"},
    "cdssm": {"letters", "windows"},
    "duet": {"letters"},
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
NO_GRID = {"random", "bm25", "dssm", "cdssm", "arc-i", "cntn", "lstm-rnn", "bi-lstm-rnn", "deepmatch"}


def left_out(case: Case, side: str, place: int) -> float:
    """The score of the pair without one word, by way of its text."""
    it = explained(case)
    texts = {"left": LEFT, "right": RIGHT}
    word = getattr(it, side).words[place]
    texts[side] = texts[side][: word.start] + " " + texts[side][word.end :]
    return float(matcher(case).predict([(texts["left"], texts["right"])])[0])


@pytest.mark.filterwarnings("ignore:.* were cut")
@every_case
def test_the_explained_score_is_the_score(case):
    np.testing.assert_allclose(explained(case).score, matcher(case).predict([(LEFT, RIGHT)])[0], rtol=1e-4, atol=1e-5)


@every_case
def test_words_stand_where_they_stand_in_the_text(case):
    it = explained(case)
    assert [it.left.text[word.start : word.end].lower() for word in it.left.words] == [w.text for w in it.left.words]
    assert [word.text for word in it.right.words] == ["godu", "firi", "mama", "bama", "—", "词", "neverseen", "kusi"]


@pytest.mark.filterwarnings("ignore:.* were cut")
@every_case
def test_leaving_a_word_out_is_scoring_the_text_without_it(case):
    it = explained(case)
    adds = it.by("leave-one-out")
    assert adds is not None
    for side, place in (("left", 0), ("left", 6), ("right", 3), ("right", 6)):
        expected = it.score - left_out(case, side, place)
        np.testing.assert_allclose(getattr(adds, side)[place], expected, rtol=1e-3, atol=1e-4)


@every_case
def test_integrated_gradients_add_up_or_are_not_given(case):
    it = explained(case)
    adds = it.by("integrated-gradients")
    if adds is None:
        assert any("No integrated gradients" in note for note in it.notes)
        return
    assert (len(adds.left), len(adds.right)) == (len(it.left.words), len(it.right.words))
    assert adds.baseline is not None
    assert adds.residual is not None
    span = it.score - adds.baseline
    np.testing.assert_allclose(sum(adds.left) + sum(adds.right) + adds.residual, span, rtol=1e-3, atol=1e-4)
    assert abs(adds.residual) <= 0.1 * abs(span) + 1e-5


@every_case
def test_grids_have_a_row_for_each_left_and_a_column_for_each_right_position(case):
    it = explained(case)
    assert bool(it.grids) == (case.name not in NO_GRID)
    for grid in it.grids:
        assert np.isfinite(np.array(grid.values)).all()
        assert np.shape(grid.values) == (len(grid.rows), len(grid.columns))
        for spans, side in ((grid.rows, it.left), (grid.columns, it.right)):
            assert all(0 <= span.first < span.end <= len(side.words) for span in spans)
            assert all(side.words[span.first].text in span.label for span in spans)


@every_case
def test_cells_name_their_value_and_have_shares_of_one_whole(case):
    it = explained(case)
    for cell in it.cells:
        assert it.grids[cell.grid].values[cell.i][cell.j] == cell.value
    assert sum(abs(cell.share or 0) for cell in it.cells) <= 1 + 1e-5


@every_case
def test_each_mechanism_gives_its_own_account(case):
    it = explained(case)
    assert OWN.get(case.name, set()) <= {table.name for table in it.tables}
    for table in it.tables:
        for fact in table.facts:
            assert all(0 <= i < len(it.left.words) for i in fact.left)
            assert all(0 <= j < len(it.right.words) for j in fact.right)
    gated = case.settings.get("gate", "left" if case.name in ("amv-lstm", "anmm") else "none")
    sides = {"left": ["left"], "right": ["right"], "both": ["left", "right"]}.get(gated, [])
    attention = next((weights for weights in it.weights if weights.name == "attention"), None)
    assert [side for side in ("left", "right") if attention and getattr(attention, side)] == sides
    for side in sides:
        np.testing.assert_allclose(sum(getattr(attention, side)), 1, rtol=1e-5)


@every_case
def test_explanations_go_through_json_unchanged(case):
    it = explained(case)
    assert Explanation.from_json(it.to_json()) == it


@every_case
def test_a_model_is_left_as_it_was(case):
    model = matcher(case).model
    assert model is not None
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    matcher(case).explain(LEFT, RIGHT)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any({"forward", "trees"} & set(vars(module)) for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


@every_case
def test_what_is_watched_has_stages_of_its_own_and_the_model_s_weights(case):
    model = matcher(case).model
    assert model is not None
    watched = apart(model)
    assert not set(watched.modules()) & set(model.modules())
    held = [weight for module in watched.modules() for weight in vars(module).values() if torch.is_tensor(weight)]
    assert not held  # beside parameters and buffers, which would be held twice
    for weight, its in zip(model.state_dict().values(), watched.state_dict().values(), strict=True):
        assert weight.data_ptr() == its.data_ptr()


def test_pairs_are_scored_as_ever_while_one_is_explained():
    made = matcher(FIRST["mv-lstm"])
    pairs = [(LEFT, RIGHT), ("bama delo", "kusi bama")] * 9
    scores = made.predict(pairs)
    it, near = made.explain(LEFT, RIGHT), made.nearest(LEFT, RIGHT, overlap(6, seed=3))
    with ThreadPoolExecutor(3) as others:
        explaining = [others.submit(lambda: [made.explain(LEFT, RIGHT) for _ in range(10)]) for _ in range(2)]
        looking = others.submit(lambda: [made.nearest(LEFT, RIGHT, overlap(6, seed=3)) for _ in range(10)])
        while not all(each.done() for each in (*explaining, looking)):
            np.testing.assert_array_equal(made.predict(pairs), scores)
    assert all(found == it for each in explaining for found in each.result())
    assert all(found == near for found in looking.result())


@pytest.mark.parametrize("made_inside", [False, True])
def test_a_pair_is_explained_in_inference_mode_as_outside_it(made_inside, tmp_path):
    made = matcher(FIRST["mv-lstm"])
    made.save(tmp_path)
    with torch.inference_mode():
        inside = Matcher.load(tmp_path) if made_inside else made
        assert inside.explain(LEFT, RIGHT) == explained(FIRST["mv-lstm"])


@every_case
def test_one_word_texts_and_equal_texts_are_explained(case):
    for left, right in (("bama", "bama"), ("neverseen", "bama delo"), (LEFT, LEFT)):
        it = matcher(case).explain(left, right)
        assert np.isfinite([*it.contributions[0].left, *it.contributions[0].right]).all()


class Own(PairModel):
    """A user's model: the parts are the house's, the stages have other names."""

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.words = Words(vocab, dim=4)
        self.meet = Meet()
        self.out = nn.Linear(1, 1)

    def forward(self, left: Tokens, right: Tokens) -> torch.Tensor:
        return self.out(self.meet(*self.words(left, right)).x.sum((2, 3)))[:, 0]


class Meet(nn.Module):
    def forward(self, u, v) -> Grid:
        return grid_of(u, v, (u.x @ v.x.mT)[:, None])


def test_a_model_of_the_users_own_is_explained_as_far_as_its_stages_allow():
    tokenizer = matcher(Case("bm25")).tokenizer
    it = explain_pair("own", Own(tokenizer.vocab), tokenizer, LEFT, RIGHT, limit=100)
    assert [grid.name for grid in it.grids] == ["meet"]
    assert [each.method for each in it.contributions] == ["leave-one-out", "integrated-gradients"]
    assert it.cells[0].adds is not None
    assert not it.notes
