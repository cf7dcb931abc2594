"""Features of pairs in one kernel equal those of the layers it replaces, which still train and can be traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from kernels.forcing import forced, threads
from pairlight.explain.trace import RecordingTrace
from pairlight.kernels.native.library import available
from pairlight.layers.backends import use_backend
from pairlight.layers.evidence import Evidence, PairFeatures
from pairlight.layers.layer import Layer
from pairlight.layers.subwords import DIM, ProjectedEmbedding, static_units
from pairlight.layers.tracing import tracing
from pairlight.layers.types import Tokens
from pairlight.models.late_interaction import LateInteraction

pytestmark = pytest.mark.skipif(not available(), reason="no compiled kernels here")

VOCAB = 32_000
close = {"rtol": 0, "atol": 1e-5}


def texts(rows: int, longest: int, seed: int, junk: int = 0) -> Tokens:
    """Texts of few distinct subwords, among them rare ones; the first is the longest, and `junk` is in the padding."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest + 1, (rows,), generator=g)
    lengths[0] = longest
    mask = torch.arange(longest) < lengths[:, None]
    ids = torch.randint(0, 60, (rows, longest), generator=g) * 530
    return Tokens(torch.where(mask, ids, junk), mask)


def on_numpy(tokens: Tokens) -> Tokens:
    return Tokens(tokens.ids.numpy(), tokens.mask.numpy())


def late_interaction(vocab: int = VOCAB, k: int = 10) -> LateInteraction:
    """A model with random weights and some trained vectors."""
    torch.manual_seed(0)
    model = LateInteraction(vocab, k=k)
    model.init_weights(0.1)
    model.tune_vectors(_Ids(np.arange(0, VOCAB, 1060)))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    model.features.set_average_length(9.0)
    return model.eval()


class _Ids:
    def __init__(self, ids: Any) -> None:
        self.ids = ids


@contextmanager
def only_layers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(PairFeatures, "can_fuse", lambda *_: False)
        yield


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """One entry for every call of the kernel."""
    calls: list[None] = []
    of_tokens = PairFeatures.of_tokens
    with monkeypatch.context() as patch:
        patch.setattr(PairFeatures, "of_tokens", lambda *args: (calls.append(None), of_tokens(*args))[1])
        yield calls


@pytest.mark.parametrize(("lefts", "times", "L", "R", "k"), [
    (1, 40, 30, 41, 10), (3, 2, 1, 1, 10), (4, 1, 200, 200, 10), (2, 5, 9, 6, 90), (5, 3, 1, 60, 1), (2, 2, 60, 1, 3),
])  # fmt: skip
@torch.no_grad()
def test_scores_and_features_equal_those_of_the_layers(
    monkeypatch: pytest.MonkeyPatch, lefts: int, times: int, L: int, R: int, k: int
) -> None:
    left, right = texts(lefts, L, 1), texts(lefts * times, R, 2)
    dirty = texts(lefts, L, 1, junk=10**9), texts(lefts * times, R, 2, junk=-3)
    for model, f in ((late_interaction(k=k), "linear_features"), (_evidence(), "pair_features")):
        with counted(monkeypatch) as calls:
            score, features = model(left, right), getattr(model, f)(left, right)
            assert len(calls) == 2
        with only_layers(monkeypatch):
            torch.testing.assert_close(getattr(model, f)(left, right), features, **close)
            torch.testing.assert_close(model(left, right), score, rtol=1e-5, atol=5e-5)
        assert torch.equal(model(*dirty), score)


def _evidence() -> Evidence:
    evidence = Evidence()
    evidence.init_weights()
    evidence.features.set_average_length(9.0)
    return evidence


@torch.no_grad()
def test_subwords_beyond_the_weights_count_as_in_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    model, left, right = late_interaction(vocab=5000), texts(2, 9, 1), texts(4, 12, 2)
    score = model.linear_features(left, right)
    with only_layers(monkeypatch):
        torch.testing.assert_close(model.linear_features(left, right), score, **close)


@torch.no_grad()
def test_numpy_has_the_features_of_pytorch() -> None:
    left, right = texts(2, 20, 1), texts(6, 31, 2)
    for model, build in (
        (late_interaction(k=4), lambda: LateInteraction(VOCAB, k=4)),
        (_evidence(), Evidence),
    ):
        state = {name: array.numpy() for name, array in model.state_dict().items()}
        with use_backend("numpy"):
            same: Any = build()
            if isinstance(same, LateInteraction):
                same.prepare_state(state)
        same.load_state_dict(state)
        features = "linear_features" if isinstance(same, LateInteraction) else "pair_features"
        expected = getattr(model, features)(left, right).numpy()
        for choice in ("portable", "reference"):
            with forced(choice):
                found = getattr(same, features)(on_numpy(left), on_numpy(right))
            np.testing.assert_allclose(found, expected, **close)


@torch.no_grad()
def test_traced_scores_equal_fused_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = texts(1, 9, 1), texts(1, 12, 2)
    for model in (late_interaction(), _evidence()):
        score = model(left, right)
        trace = RecordingTrace()
        with counted(monkeypatch) as calls, tracing(trace):
            torch.testing.assert_close(model(left, right), score, rtol=1e-5, atol=5e-5)
        assert not calls
        assert any(isinstance(call.layer, PairFeatures) for call in trace.calls)


@pytest.mark.parametrize("name", ["embed", "weights", "features", "features.interact", "features.aggregate"])
@torch.no_grad()
def test_a_layer_that_is_watched_runs_by_itself(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    model, left, right = late_interaction(), texts(1, 9, 1), texts(3, 12, 2)
    score = model(left, right)
    watch = _Watch(dict(model.named_layers())[name])
    with counted(monkeypatch) as calls, tracing(watch):
        torch.testing.assert_close(model(left, right), score, rtol=1e-5, atol=5e-5)
    assert watch.calls
    assert not calls


class _Watch:
    """A trace of one layer."""

    def __init__(self, layer: Layer) -> None:
        self.layer, self.calls = layer, 0

    def watches(self, layer: Layer) -> bool:
        return layer is self.layer

    def call(self, layer: Layer, args: tuple[Any, ...]) -> Any:
        self.calls += 1
        return layer.forward(*args)

    def note(self, layer: Layer, value: Any) -> None:
        pass


def test_gradients_reach_all_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    model, left, right = late_interaction().train(), texts(3, 9, 1), texts(6, 12, 2)
    with counted(monkeypatch) as calls:
        model(left, right).sum().backward()
    assert not calls
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


@torch.no_grad()
def test_evidence_is_fused_in_training_too_because_its_features_have_no_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evidence, left, right = _evidence(), texts(3, 9, 1), texts(6, 12, 2)
    with torch.enable_grad(), counted(monkeypatch) as calls:
        evidence(left, right).sum().backward()
    assert len(calls) == 1
    assert evidence.linear.weight.grad.any()


@torch.no_grad()
def test_stored_encodings_have_the_projected_vectors_and_the_same_scores() -> None:
    model, left, right = late_interaction(), texts(2, 9, 1), texts(4, 12, 2)
    v = model.encode_right(right)
    with torch.enable_grad():
        torch.testing.assert_close(model.eval().embed(right).x.detach(), v.x, **close)
    assert not v.x[~right.mask].any()
    torch.testing.assert_close(model.match(model.encode_left(left), v), model(left, right), rtol=1e-5, atol=5e-5)


@torch.no_grad()
def test_a_changed_weight_changes_the_table() -> None:
    model, left, right = late_interaction(), texts(2, 9, 1), texts(4, 12, 2)
    before = model(left, right)
    for each in (model.embed.project, model.embed.change, model.weights.weight):
        each.mul_(torch.rand(each.shape))
        after, before = model(left, right), before
        assert not torch.allclose(after, before)
        other = late_interaction()
        other.load_state_dict(model.state_dict())
        assert torch.equal(other(left, right), after)
        before = after


@torch.no_grad()
def test_the_order_in_which_rows_are_needed_and_the_number_of_threads_do_not_matter() -> None:
    left, right = texts(1, 30, 1), texts(80, 41, 2)
    with threads(1):
        one = late_interaction()(left, right)
    with threads(2):
        model = late_interaction()
        for row in range(79, -1, -1):
            alone = Tokens(right.ids[row : row + 1], right.mask[row : row + 1])
            assert model(left, alone).item() == pytest.approx(one[row].item(), abs=1e-5)
        torch.testing.assert_close(model(left, right), one, rtol=0, atol=0)


@torch.no_grad()
def test_a_subword_whose_vector_is_empty_has_no_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    model, left, right = late_interaction(), texts(2, 9, 1), texts(4, 12, 2)
    model.embed.project.zero_()
    f = model.linear_features(left, right)
    assert not f[:, :4].any()
    assert not f[:, 9:].any()
    with only_layers(monkeypatch):
        torch.testing.assert_close(model.linear_features(left, right), f, **close)


@torch.no_grad()
def test_double_precision_uses_the_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    model, left, right = late_interaction().double(), texts(2, 9, 1), texts(4, 12, 2)
    with counted(monkeypatch) as calls:
        assert model(left, right).dtype == torch.float64
    assert not calls


def test_static_vectors_have_a_mean_length_of_one() -> None:
    every = torch.arange(VOCAB)[None]
    _, norms = static_units(Tokens(every, every >= 0))
    assert float(norms.mean()) == pytest.approx(1, abs=1e-5)


def test_a_row_of_the_table_does_not_depend_on_the_texts_before() -> None:
    first, second = texts(2, 9, 1), texts(4, 12, 2)
    tables = []
    for order in ((first, second), (second, first)):
        model = late_interaction()
        with torch.no_grad():
            for tokens in order:
                units, norms = model.embed.unit_rows(tokens)
        tables.append((units, norms))
    assert torch.equal(tables[0][0], tables[1][0])
    assert torch.equal(tables[0][1], tables[1][1])
    assert 0 < (tables[0][1] > 0).sum() < VOCAB  # other rows are not computed


def test_the_table_has_rows_of_length_one() -> None:
    embed = ProjectedEmbedding(0.0)
    embed.adjust_start()
    tokens = texts(2, 9, 1)
    with torch.no_grad():
        units, norms = embed.unit_rows(tokens)
        ids = tokens.ids[tokens.mask]
        torch.testing.assert_close(units[ids].norm(dim=1), torch.ones(len(ids)))
        torch.testing.assert_close(units[ids] * norms[ids][:, None], embed(tokens).x[tokens.mask])
    assert units.shape == (VOCAB, DIM)
