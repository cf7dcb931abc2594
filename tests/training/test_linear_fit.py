"""The linear layer of the evidence is fitted to the training pairs before the first epoch."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from models.toy import CASES
from pairlight.data.pairs import Pairs
from pairlight.layers.collate import collate
from pairlight.matcher import Matcher
from pairlight.training import linear_fit, loop
from pairlight.training.examples import LabeledExamples, RankingExamples
from pairlight.training.linear_fit import fit_linear
from pairlight.training.trainer import Preparation, prepare_training
from toy_pairs import WORDS, marked, overlap

SMALL = {case.name: case.settings for case in reversed(CASES)}
OPTIONS = {"vectors": "none", "negatives_per_positive": 2}
MODELS = ("mv-lstm", "dssm", "late-interaction")


def noisy_lists() -> Pairs:
    """Lists whose positives share a word with the left text, and so do some negatives."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(30):
        left = rng.choice(WORDS, 4, replace=False)
        for number in range(4):
            shared = number == 0 or rng.random() < 0.4
            right = [*rng.choice(WORDS, rng.integers(2, 7)), *(left[:1] if shared else [])]
            rows.append((" ".join(left), " ".join(rng.permutation(right)), float(number == 0)))
    return Pairs.of(*(list(column) for column in zip(*rows, strict=True)))


LISTS = noisy_lists()


def labeled(low: float, high: float, steps: int) -> Pairs:
    """Independent pairs; pairs with more words in common tend to have a higher label."""
    rng = np.random.default_rng(1)
    left, right, label = [], [], []
    for number in range(60):
        words = rng.permutation(WORDS)
        shared = int(rng.integers(0, steps + 1))
        left.append(" ".join(words[:5]))
        right.append(" ".join([*words[:shared], *words[10 : 15 - shared]]))
        grade = min(steps, max(0, shared + int(rng.integers(-1, 2))))
        label.append(low + (high - low) * grade / steps)
        left[-1] += f" {number}"  # so that no two pairs form a list
    return Pairs.of(left, right, label)


def prepared(name: str, pairs: Pairs, **options) -> Preparation:
    return prepare_training(name, pairs, pairs, settings=SMALL[name], options=OPTIONS | options)


def examples_of(ready: Preparation) -> RankingExamples | LabeledExamples:
    if ready.config.loss == "listwise":
        return RankingExamples(ready.pairs, ready.config.negatives_per_positive)
    return LabeledExamples(ready.pairs, ready.config.loss)


def weights(ready: Preparation) -> np.ndarray:
    """The weights of the linear layer, then its bias."""
    linear = ready.model.linear_layer()
    return np.r_[linear.weight[0].detach().double().numpy(), linear.bias.detach().double().numpy()]


class Objective:
    """The convex loss, written out: of every list or label, plus the penalty for the distance from the start."""

    def __init__(self, ready: Preparation) -> None:
        self.loss, self.start = ready.config.loss, weights(ready)
        epoch = examples_of(ready).epoch(np.random.default_rng(ready.config.seed))
        self.label = epoch.label
        self.f = []
        ready.model.eval()
        for left, rights in zip(epoch.left, epoch.right, strict=True):
            batch = [collate(ready.texts, numbers, "cpu") for numbers in (np.array([left]), rights)]
            with torch.no_grad():
                self.f.append(ready.model.linear_features(*batch).double().numpy())

    def __call__(self, w: np.ndarray) -> float:
        total = 0.0
        for number, f in enumerate(self.f):
            s = f @ w[:-1] + w[-1]
            if self.label is None:
                total += math.log(sum(math.exp(each) for each in s)) - s[0]
            elif self.loss == "bce":
                y = float(self.label[number])
                total += y * math.log1p(math.exp(-s[0])) + (1 - y) * math.log1p(math.exp(s[0]))
            else:
                total += (float(self.label[number]) - s[0]) ** 2
        penalty = 0.1 * max(1, 100 / len(self.f))
        return (total + penalty * float(((w - self.start) ** 2).sum())) / len(self.f)

    def gradient(self, w: np.ndarray) -> np.ndarray:
        steps = 1e-5 * np.eye(len(w))
        return np.array([(self(w + step) - self(w - step)) / 2e-5 for step in steps])


DATA = {
    "lists": LISTS,
    "labels 0 and 1": labeled(0, 1, 1),
    "graded": labeled(0, 5, 5),
    "negative": labeled(-2, 2, 4),
}
LOSSES = {"lists": "listwise", "labels 0 and 1": "bce", "graded": "bce", "negative": "squared"}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("data", DATA)
def test_the_fit_finds_the_minimum_of_the_convex_loss(name, data):
    ready = prepared(name, DATA[data])
    assert ready.config.loss == LOSSES[data]
    objective = Objective(ready)
    before = weights(ready)
    fit_linear(ready.model, ready.texts, examples_of(ready), ready.config)
    after = weights(ready)
    assert objective(after) < objective(before) - 1e-3
    assert np.abs(objective.gradient(before)).max() > 0.01
    assert np.abs(objective.gradient(after)).max() < 2e-4


@pytest.mark.parametrize("name", MODELS)
def test_only_the_linear_layer_is_changed(name):
    ready = prepared(name, LISTS)
    before = {key: array.clone() for key, array in ready.model.state_dict().items()}
    fit_linear(ready.model, ready.texts, examples_of(ready), ready.config)
    changed = {key for key, array in ready.model.state_dict().items() if not torch.equal(array, before[key])}
    prefix = "" if name == "late-interaction" else "evidence."
    assert changed - {f"{prefix}linear.bias"} == {f"{prefix}linear.weight"}  # in lists, the bias cancels


def test_lists_are_fitted_by_the_listwise_loss_whatever_the_loss_of_training_is():
    listwise, hinge = prepared("dssm", LISTS), prepared("dssm", LISTS, loss="hinge", softmax_scale=7.0)
    for ready in (listwise, hinge):
        lists = RankingExamples(ready.pairs, ready.config.negatives_per_positive)
        fit_linear(ready.model, ready.texts, lists, ready.config)
    np.testing.assert_array_equal(weights(listwise), weights(hinge))


def test_with_one_example_the_weights_stay_near_their_start():
    def moved(copies: int) -> float:
        left, right = "bama delo firi", ["godu kusi", "bama delo"]  # the worse one is the positive
        rows = [(f"{left} {'x' * n}", each, float(each is right[0])) for n in range(copies) for each in right]
        ready = prepared("dssm", Pairs.of(*(list(column) for column in zip(*rows, strict=True))))
        before, objective = weights(ready), Objective(ready)
        fit_linear(ready.model, ready.texts, examples_of(ready), ready.config)
        distance = float(((weights(ready) - before) ** 2).sum())
        assert 0.1 * distance < copies * objective(before)
        return math.sqrt(distance)

    assert 0.01 < moved(1) < 1
    assert moved(30) > 1.3 * moved(1)
    assert moved(200) > 1.1 * moved(30)


def test_without_a_linear_layer_nothing_is_fitted():
    ready = prepare_training("dssm", LISTS, LISTS, settings=SMALL["dssm"] | {"evidence": False}, options=OPTIONS)
    before = {key: array.clone() for key, array in ready.model.state_dict().items()}
    fit_linear(ready.model, ready.texts, RankingExamples(ready.pairs, 2), ready.config)
    assert all(torch.equal(array, before[key]) for key, array in ready.model.state_dict().items())


def test_of_many_pairs_a_random_part_is_used(monkeypatch):
    used = []
    real = linear_fit._features

    def recorded(model, texts, epoch):
        used.append(epoch)
        return real(model, texts, epoch)

    monkeypatch.setattr(linear_fit, "_features", recorded)
    monkeypatch.setattr(linear_fit, "MAX_PAIRS", 21)
    for pairs in (LISTS, DATA["graded"]):
        ready = prepared("dssm", pairs)
        fit_linear(ready.model, ready.texts, examples_of(ready), ready.config)
    lists, labels = used
    assert lists.right.shape == (7, 3)  # lists of one positive and two negatives
    assert len(set(lists.left.tolist())) == 7
    assert lists.left.tolist() != sorted(lists.left.tolist())
    assert (labels.right.shape, labels.label.shape) == ((21, 1), (21,))


def test_features_that_are_not_finite_leave_the_weights_as_they_were(monkeypatch):
    ready = prepared("dssm", LISTS)
    before = weights(ready)
    features = linear_fit._features(ready.model, ready.texts, examples_of(ready).epoch(np.random.default_rng(0)))
    monkeypatch.setattr(linear_fit, "_features", lambda *_: features * float("nan"))
    fit_linear(ready.model, ready.texts, examples_of(ready), ready.config)
    np.testing.assert_array_equal(weights(ready), before)


# In the training loop


def fitted_with(*dev_metrics: float) -> tuple[Preparation, np.ndarray, loop.History]:
    """Train for no epoch, with these dev metrics before and after the fit; also the untrained weights."""
    ready = prepared("mv-lstm", LISTS)
    before, metrics = weights(ready), iter(dev_metrics)
    config = replace(ready.config, epochs=0)
    return ready, before, loop.fit(ready.model, ready.texts, ready.pairs, config, evaluate=lambda: next(metrics))


@pytest.mark.parametrize("after", [0.5, 0.6])
def test_the_fit_is_kept_if_dev_is_no_worse(after):
    ready, before, history = fitted_with(0.5, after)
    assert np.abs(weights(ready) - before).max() > 0.1
    assert (history.start, history.best, history.best_epoch) == (0.5, after, 0)


@pytest.mark.parametrize("after", [0.49, float("nan")])
def test_the_fit_is_undone_if_dev_is_worse(after):
    ready, before, history = fitted_with(0.5, after)
    np.testing.assert_array_equal(weights(ready), before)
    assert (history.start, history.best, history.best_epoch) == (0.5, 0.5, 0)


@pytest.mark.parametrize("after", [0.4, 0.6])
def test_the_first_epoch_starts_from_what_was_kept(after, monkeypatch):
    ready = prepared("mv-lstm", LISTS)
    before, seen, metrics = weights(ready), [], iter([0.5, after, 0.1])

    def train_epoch(*_):
        seen.append(weights(ready))
        return 1.0

    monkeypatch.setattr(loop, "_train_epoch", train_epoch)
    config = replace(ready.config, epochs=1)
    loop.fit(ready.model, ready.texts, ready.pairs, config, evaluate=lambda: next(metrics))
    assert np.array_equal(seen[0], before) == (after < 0.5)


def test_the_fit_is_kept_if_nothing_is_known_of_dev():
    ready, before, history = fitted_with(float("nan"))
    assert np.abs(weights(ready) - before).max() > 0.1
    assert (history.start, history.best_epoch) == (None, None)
    ready = prepared("mv-lstm", LISTS)
    loop.fit(ready.model, ready.texts, ready.pairs, replace(ready.config, epochs=0))
    assert np.abs(weights(ready) - before).max() > 0.1


def test_the_untrained_model_and_the_fit_are_both_measured_on_dev(monkeypatch):
    monkeypatch.setattr("pairlight.training.linear_fit.ENOUGH", 1)  # these lists are few, and the fit must change dev
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(LISTS, LISTS, **OPTIONS, epochs=1, lr=1e-9, progress=False)
    untrained = Matcher("mv-lstm", **SMALL["mv-lstm"])
    assert matcher.history.best_epoch == 0
    assert matcher.history.best > matcher.history.start
    assert matcher.evaluate(LISTS).metrics["MAP"] == pytest.approx(matcher.history.best)
    assert untrained.evaluate(LISTS).metrics["MAP"] == pytest.approx(matcher.history.start, abs=0.05)


RUN = {"vectors": "none", "freeze": False, "lr": 0.01, "patience": 0, "progress": False}


@pytest.mark.parametrize("name", ["mv-lstm", "late-interaction"])
def test_a_resumed_run_ends_as_if_never_stopped_and_is_not_fitted_again(name, tmp_path, monkeypatch):
    pairs = marked(20, seed=0)

    def trained(epochs: int, **given) -> Matcher:
        return Matcher(name, **SMALL[name]).fit(pairs, pairs, epochs=epochs, **RUN, **given)

    whole = trained(6)
    trained(2, folder=tmp_path)
    monkeypatch.setattr(loop, "fit_linear", lambda *_: pytest.fail("fitted again"))
    rest = trained(6, folder=tmp_path, resume=True)
    one, two = (matcher.scorer.model.state_dict() for matcher in (whole, rest))
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert replace(rest.history, epochs=[]) == replace(whole.history, epochs=[])
    assert [epoch.loss for epoch in rest.history.epochs] == [epoch.loss for epoch in whole.history.epochs]
    assert whole.history.best > whole.history.start


def test_continued_training_starts_from_the_weights_of_the_trained_model(tmp_path):
    old = Matcher("dssm", **SMALL["dssm"]).fit(LISTS, LISTS, **OPTIONS, epochs=1, progress=False)
    old.save(tmp_path)
    new = overlap(8, seed=4)
    again = Matcher("dssm").fit(new, new, **OPTIONS, init=tmp_path, epochs=0, progress=False)
    for key, array in old.scorer.model.state_dict().items():
        assert torch.equal(again.scorer.model.state_dict()[key], array), key
