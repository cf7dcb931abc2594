"""The Matcher, with every model."""

import copy
import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from models.toy import CASES, bare
from pairlight import InputError, Matcher, Pairs
from pairlight.models import MODELS, model_class
from records import change_record
from toy_pairs import marked, overlap

SMALL = {case.name: case.settings for case in reversed(CASES)}
QUICK = {"vectors": "none", "progress": False, "epochs": 1}
HELD = overlap(6, seed=3)


@pytest.fixture(scope="module")
def trained(pairs):
    return Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(pairs, HELD, **QUICK)


EVERY_FORM = [
    *((name, SMALL[name]) for name in MODELS),
    *((name, bare(name, SMALL[name])) for name in MODELS if model_class(name).takes_evidence),
    ("late-interaction", {"units": "words", "dim": 6}),
]


@pytest.fixture(scope="module", params=EVERY_FORM, ids=lambda form: form[0] + "-bare" * ("evidence" in form[1]))
def each(request, pairs):
    """Every model, barely trained, with evidence and in the form of its paper."""
    name, settings = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Matcher(name, **settings).fit(pairs, HELD, **QUICK)


def test_a_saved_model_scores_exactly_as_before(each, tmp_path):
    each.save(tmp_path / "model")
    loaded = Matcher.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(HELD), each.predict(HELD))
    assert loaded.evaluate(HELD) == each.evaluate(HELD)
    assert loaded.scorer.model.settings == each.scorer.model.settings
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]


def test_a_pair_has_the_same_score_alone_and_in_any_batch(each):
    rows = [(HELD.texts[i], HELD.texts[j]) for i, j in zip(HELD.left, HELD.right, strict=True)]
    together = each.predict(rows)
    np.testing.assert_allclose([each.predict([row])[0] for row in rows], together, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(each.predict(rows[::-1])[::-1], together, rtol=1e-6, atol=1e-6)


def test_emoji_chinese_and_unseen_words_train_and_score(each):
    texts = Pairs.of(
        ["你好世界", "👍👍", "ok then"] * 2, ["世界", "👍", "then ok", "再见", "👎", "no"], [1, 1, 1, 0, 0, 0]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matcher = Matcher(each.name, **each.settings).fit(texts, texts, **QUICK)
    assert np.isfinite(matcher.predict([("你", "🎉"), ("👍", "unseen words here"), ("…", "\u200b")])).all()


def test_empty_texts_and_texts_of_10_000_words_train_and_score(each):
    long = "bama delo " * 5_000
    texts = Pairs.of(["", long, "bama", "", long, "bama"], [long, "bama", "", "delo", "", "delo"], [1, 1, 1, 0, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # long texts are truncated
        matcher = Matcher(each.name, **each.settings).fit(texts, texts, **QUICK)
        # `predict` refuses an empty text of a file or list, which is likely a mistake; the models can read one.
        scores = matcher.scorer.score(["", long, "", long, " "], ["", long, long, "👍", "你好"])
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", [name for name in MODELS if model_class(name).takes_evidence])
def test_a_toy_task_is_learned(name, pairs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matcher = Matcher(name, **bare(name, SMALL[name])).fit(
            pairs, pairs, epochs=60, patience=0, optimizer="adam", lr=0.02, loss="listwise", softmax_scale=5.0,
            vectors="none", freeze=False, init_scale=0.3, progress=False,
        )  # fmt: skip
    assert matcher.history.epochs[-1].loss < 0.8 * matcher.history.epochs[0].loss
    assert matcher.evaluate(pairs).metrics["MAP"] > 0.75


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("random", "bm25")])
def test_what_static_vectors_cannot_tell_is_learned(name):
    pairs = marked(40, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matcher = Matcher(name, **SMALL[name]).fit(
            pairs, pairs, epochs=60, patience=0, lr=0.01, vectors="none", freeze=False, init_scale=0.3, progress=False
        )
    assert matcher.history.start == pytest.approx(0.567, abs=0.001)  # that of the evidence, with any model
    assert matcher.history.epochs[-1].loss < 0.8 * matcher.history.epochs[0].loss
    assert matcher.evaluate(pairs).metrics["MAP"] > 0.75


def test_bm25_ranks_the_toy_task_and_random_does_not(pairs):
    assert Matcher("bm25").fit(pairs, HELD, progress=False).evaluate(HELD).metrics["P@1"] == 1.0
    assert Matcher("random").fit(pairs, HELD, progress=False).evaluate(pairs).metrics["P@1"] < 0.6


def test_bm25_equals_the_package_bm25s(pairs):
    import bm25s

    documents = [pairs.texts[i] for i in np.unique(pairs.right)]
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75, dtype="float64")
    index.index([text.split() for text in documents], show_progress=False)
    matcher = Matcher("bm25").fit(pairs, HELD, progress=False)
    query = "bama bama dama fama gelo kiri"
    np.testing.assert_allclose(
        matcher.predict([(query, text) for text in documents]), index.get_scores(query.split()), rtol=1e-5
    )


def test_ranking_gives_the_best_first_in_the_shape_of_sentence_transformers(trained):
    documents = [HELD.texts[i] for i in HELD.right[:4]]
    ranked = trained.rank(HELD.texts[HELD.left[0]], documents, top_k=3, return_documents=True)
    assert [set(each) for each in ranked] == [{"corpus_id", "score", "text"}] * 3
    assert ranked == sorted(ranked, key=lambda each: -each["score"])
    assert all(each["text"] == documents[each["corpus_id"]] for each in ranked)
    assert "text" not in trained.rank("a", documents)[0]
    assert trained.rank("a", []) == []


def test_calls_with_the_arguments_of_sentence_transformers_work(trained):
    query, documents = HELD.texts[HELD.left[0]], [HELD.texts[i] for i in HELD.right[:4]]
    found = trained.rank(query, documents, top_k=2, return_documents=False, batch_size=16, show_progress_bar=True)
    assert found == trained.rank(query, documents, 2)
    pairs = [(query, text) for text in documents]
    assert (trained.predict(pairs, 16, False) == trained.predict(pairs)).all()


def test_probabilities_rise_with_scores_and_agree_with_the_threshold(trained):
    scores, chances = trained.predict(HELD), trained.predict(HELD, as_probability=True)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (np.diff(chances[np.argsort(scores)]) >= 0).all()
    assert trained.calibration is not None


def test_labeled_pairs_are_measured_at_the_threshold_chosen_on_dev(pairs):
    table = Pairs.of([f"{pairs.texts[i]} {n}" for n, i in enumerate(pairs.left)],
                     [pairs.texts[j] for j in pairs.right], pairs.label)  # fmt: skip
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(table, table, **QUICK)
    assert matcher.config.loss == "bce"
    assert matcher.config.metric == "accuracy"
    result = matcher.evaluate(table)
    assert list(result.metrics) == ["accuracy", "F1", "ROC-AUC", "AP"]
    assert result.metrics["accuracy"] == pytest.approx(matcher.history.best)


def test_a_tenth_of_the_lists_is_held_out_without_a_dev_set(pairs):
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(pairs, **QUICK)
    assert matcher.trained.data["dev"].lists == 4
    assert matcher.trained.data["train"].lists == 36


def test_training_can_continue_from_a_saved_model_and_keeps_its_vocabulary(trained, tmp_path):
    trained.save(tmp_path)
    new = Pairs.of(["zebra bama", "zebra bama"], ["zebra", "quagga"], [1, 0])
    matcher = Matcher("mv-lstm").fit(new, new, init=tmp_path, **(QUICK | {"epochs": 0}))
    old, now = trained.scorer.tokenizer, matcher.scorer.tokenizer
    assert now.vocabulary[: old.vocab_size] == old.vocabulary
    assert set(now.vocabulary[old.vocab_size :]) == {"zebra", "quagga"}
    table = "own.embed.embedding.weight"
    assert torch.equal(
        matcher.scorer.model.state_dict()[table][: old.vocab_size], trained.scorer.model.state_dict()[table]
    )
    assert matcher.scorer.model.settings == trained.scorer.model.settings
    np.testing.assert_allclose(matcher.predict(HELD), trained.predict(HELD), rtol=1e-6, atol=1e-6)
    with pytest.raises(InputError, match="is a mv-lstm, not a lstm-rnn"):
        Matcher("lstm-rnn").fit(new, new, init=tmp_path, **QUICK)
    with pytest.raises(InputError, match="has another size of weight: use the same settings"):
        Matcher("mv-lstm", evidence=False).fit(new, new, init=tmp_path, **QUICK)


def test_deepmatch_keeps_its_topics_when_training_continues(pairs, tmp_path):
    old = Matcher("deepmatch", **SMALL["deepmatch"]).fit(pairs, HELD, **QUICK)
    old.save(tmp_path)
    new = Pairs.of(["zebra bama", "zebra bama"], ["zebra", "quagga"], [1, 0])
    matcher = Matcher("deepmatch").fit(new, new, init=tmp_path, **(QUICK | {"epochs": 0}))
    assert torch.equal(*(each.scorer.model.own.patches.left_patches for each in (matcher, old)))
    np.testing.assert_allclose(matcher.predict(HELD), old.predict(HELD), rtol=1e-6, atol=1e-6)


def test_urae_keeps_its_autoencoder_when_training_continues(pairs, tmp_path):
    old = Matcher("urae", **SMALL["urae"]).fit(pairs, HELD, **QUICK)
    old.save(tmp_path)
    new = pairs.take(np.arange(9))
    matcher = Matcher("urae").fit(new, new, init=tmp_path, **(QUICK | {"epochs": 0}))
    assert float(matcher.scorer.model.own.std) == float(old.scorer.model.own.std) != 1
    np.testing.assert_allclose(matcher.predict(HELD), old.predict(HELD), rtol=1e-6, atol=1e-6)


def test_a_model_can_be_copied(trained):
    model = trained.scorer.model
    copied = copy.deepcopy(model)
    assert copied.settings == model.settings
    assert all(torch.equal(a, b) for a, b in zip(copied.parameters(), model.parameters(), strict=True))


def test_long_texts_are_truncated_with_a_warning_that_counts_them(trained):
    with pytest.warns(UserWarning, match="1 of 2 texts have more than 50 words"):
        scores = trained.predict([("bama " * 100_000, "bama dama")])
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("name", "settings", "pair", "said"),
    [
        ("arc-i", {"length": 20}, (5, 21), "^1 of 2 texts have more than 20 words .* with a higher length to"),
        ("arc-i", {"length": 50}, (51, 5), "^1 of 2 texts have more than 50 words .* higher max_length and length to"),
        ("arc-i", {"preset": "mv-lstm"}, (51, 21), "^1 of 2 texts have more than 50 words .* higher max_length to"),
        ("arc-ii", {"length": 20}, (30, 21), "^2 of 2 texts have more than 20 words .* with a higher length to"),
        ("duet", {"left_length": 6, "right_length": 14}, (8, 13), "^1 of 2 .* than 6 words .* higher left_length to"),
        ("duet", {"left_length": 6, "right_length": 14}, (5, 51), "than 50 .* than 14 .* max_length and right_length"),
    ],
)
def test_a_warning_names_the_setting_that_limits_what_a_model_reads(pairs, name, settings, pair, said):
    matcher = Matcher(name, **SMALL[name] | settings).fit(pairs, HELD, **QUICK | {"epochs": 0})
    with pytest.warns(UserWarning, match=said):
        matcher.predict([tuple("bama " * n + "dama" for n in (pair[0] - 1, pair[1] - 1))])


def test_a_text_within_the_limit_of_its_side_gives_no_warning(pairs):
    settings = SMALL["duet"] | {"left_length": 6, "right_length": 14}
    matcher = Matcher("duet", **settings).fit(pairs, HELD, **QUICK | {"epochs": 0})
    matcher.predict([("bama " * 6, "dama " * 14)])


def test_mined_negatives_make_lists_of_positive_pairs(pairs):
    positives = pairs.take(np.flatnonzero(pairs.label > 0))
    for how in ("random", "bm25"):
        matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(
            positives, HELD, negatives=how, negatives_per_positive=2, **QUICK
        )
        assert matcher.trained.data["train"].pairs == 3 * len(positives)


def test_positive_pairs_train_without_a_dev_set_once_negatives_are_mined(pairs):
    positives = pairs.take(np.flatnonzero(pairs.label > 0))
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(
        positives, negatives="random", negatives_per_positive=2, **QUICK
    )
    assert matcher.config.metric == "MAP"
    assert matcher.dev.lists == 4
    assert (matcher.dev.label > 0).sum() == 4 < len(matcher.dev) <= 12
    with pytest.raises(
        InputError, match=r"The best epoch cannot be chosen by accuracy on the dev set\. All 4 pairs are positive"
    ):
        Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(positives, loss="bce", **QUICK)


def graded(lowest: float, highest: float) -> Pairs:
    left, right = [f"bama {n}" for n in range(40)], [f"bama {n % 7}" for n in range(40)]
    return Pairs.of(left, right, [lowest + (highest - lowest) * (n % 6) / 5 for n in range(40)])


def test_labels_above_1_are_divided_by_the_highest_when_the_loss_is_chosen(capsys):
    matcher, same = (
        Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(labeled, graded(0, 5), **QUICK | {"progress": True})
        for labeled in (graded(0, 5), graded(0, 1))
    )
    assert capsys.readouterr().err.count("Labels go up to 5: they are divided by it.") == 1
    assert matcher.config.loss == "bce"
    assert [e.loss for e in matcher.history.epochs] == [e.loss for e in same.history.epochs]
    assert matcher.history.best == same.history.best
    np.testing.assert_array_equal(matcher.predict(HELD), same.predict(HELD))
    assert matcher.trained.data["train"].sha256 == graded(0, 5).digest()


def test_an_explicit_loss_takes_the_labels_as_they_are():
    five, one = (
        Matcher("mv-lstm", evidence=False, **SMALL["mv-lstm"]).fit(
            graded(0, most), graded(0, 5), **QUICK, loss="squared"
        )
        for most in (5, 1)
    )
    assert five.history.epochs[0].loss > 5 * one.history.epochs[0].loss


def test_negative_labels_use_the_squared_loss_and_bce_refuses_labels_outside_0_and_1():
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(graded(-1, 4), graded(-1, 4), **QUICK)
    assert matcher.config.loss == "squared"
    with pytest.raises(InputError, match="The loss bce needs labels from 0 to 1, and one is 2: use the loss squared"):
        Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(graded(0, 5), graded(0, 5), **QUICK, loss="bce")


@pytest.mark.parametrize(("low", "high"), [(0, 5), (1, 3), (-1, 4)])
def test_predicted_labels_are_on_the_scale_of_the_labels_and_are_saved(low, high, tmp_path):
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(graded(low, high), graded(low, high), **QUICK)
    scores, labels = matcher.predict(graded(low, high)), matcher.predict(graded(low, high), as_label=True)
    assert (labels >= low).all()
    assert (labels <= high).all()
    order = np.argsort(scores, kind="stable")
    assert (np.diff(labels[order]) >= 0).all()
    assert float(labels.mean()) == pytest.approx((low + high) / 2, abs=0.1 * (high - low))
    matcher.save(tmp_path)
    np.testing.assert_array_equal(Matcher.load(tmp_path).predict(graded(low, high), as_label=True), labels)
    assert matcher.evaluate(graded(low, high)).metrics.keys() == {"Spearman", "Pearson"}
    assert (matcher.explain("bama 1", "bama 2", words=False).probability is None) == (low == 1)


def test_without_grades_predicted_labels_are_0_and_1(pairs):
    matcher = Matcher("bm25").fit(pairs, HELD, progress=False)
    labels = matcher.predict(HELD, as_label=True)
    np.testing.assert_array_equal(labels, (matcher.predict(HELD) >= matcher.threshold).astype(np.float32))
    with pytest.raises(InputError, match="as_probability or as_label, not both"):
        matcher.predict(HELD, as_label=True, as_probability=True)


def test_the_repr_has_the_model_its_input_and_its_state(pairs):
    assert repr(Matcher("mv-lstm", k=3)) == "<Matcher('mv-lstm', k=3), reads words, not trained>"
    assert repr(Matcher("dssm")) == "<Matcher('dssm'), reads trigrams, not trained>"
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(pairs, HELD, **QUICK)
    end = f"reads words, trained (best epoch {matcher.history.best_epoch}, dev MAP {matcher.history.best:.3f})>"
    assert repr(matcher).endswith(end)
    assert repr(Matcher("bm25").fit(pairs, HELD, progress=False)).startswith("<Matcher('bm25'), reads words, trained")


def test_a_second_fit_keeps_nothing_of_the_first(pairs):
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(pairs, HELD, **QUICK)
    assert matcher.history.epochs
    assert matcher.calibration is not None
    positives = HELD.take(np.flatnonzero(HELD.label > 0))
    matcher.fit(pairs, positives, **(QUICK | {"epochs": 0}))
    assert not matcher.history.epochs
    assert matcher.calibration is None


def test_a_failed_fit_leaves_the_matcher_as_it_was(pairs):
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(pairs, HELD, **QUICK)
    before = matcher.predict(HELD)
    with pytest.raises(InputError, match="nowhere is not a model"):
        matcher.fit(pairs, HELD, init="nowhere", **QUICK, max_length=2)
    positives = HELD.take(np.flatnonzero(HELD.label > 0))
    with pytest.raises(InputError, match="accuracy"):
        matcher.fit(pairs, positives, **QUICK, metric="accuracy")
    assert matcher.config.max_length == 50
    np.testing.assert_array_equal(matcher.predict(HELD), before)


def test_the_threshold_suits_the_metric_that_selected_the_epoch(pairs):
    few = np.flatnonzero((pairs.label == 0) | (pairs.group < 8))
    table = Pairs.of(
        [f"{n} {pairs.texts[pairs.left[n]]}" for n in few], [pairs.texts[pairs.right[n]] for n in few], pairs.label[few]
    )
    matcher = Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(table, table, **QUICK, metric="F1")
    assert matcher.evaluate(table).metrics["F1"] == pytest.approx(matcher.history.best)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" ", "' ' is empty"),
        ("", "'' is empty"),
        (None, "None is not a string: give a str"),
        (float("nan"), "nan is not a string"),
        ("cut emoji \ud83d", "lone surrogate"),
        ("a\0b", "contains a NUL"),
    ],
)
def test_an_invalid_text_is_refused_everywhere(trained, text, said):
    encodings = trained.encode(["bama"])
    for takes in (
        lambda: trained.rank(text, ["bama"]),
        lambda: trained.rank("bama", ["dama", text]),
        lambda: trained.rank(text, encodings),
        lambda: trained.score_encoded(text, encodings),
        lambda: trained.encode(["dama", text]),
        lambda: trained.explain(text, "bama"),
        lambda: trained.explain("bama", text),
        lambda: trained.explain("bama", ["dama", text]),
        lambda: trained.nearest("bama", text, HELD),
    ):
        with pytest.raises(InputError, match=f"The (query|(left|right) text).* {said}"):
            takes()


def test_a_single_text_in_place_of_a_list_is_refused(trained):
    for takes in (lambda: trained.encode("here it is"), lambda: trained.rank("bama", "here it is")):
        with pytest.raises(InputError, match="'here it is' is a single text: give a list of texts"):
            takes()


def test_vectors_determine_the_dimension(pairs, tmp_path):
    (tmp_path / "v.txt").write_text("bama 1 2 3\nzulu 4 5 6\n")
    settings = {name: value for name, value in SMALL["mv-lstm"].items() if name != "dim"}
    matcher = Matcher("mv-lstm", **settings).fit(pairs, HELD, **(QUICK | {"vectors": str(tmp_path / "v.txt")}))
    assert matcher.scorer.model.settings["dim"] == 3
    assert "zulu" in matcher.scorer.tokenizer.ids
    with pytest.raises(InputError, match="dim=6 does not fit the vectors"):
        Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(pairs, HELD, **(QUICK | {"vectors": str(tmp_path / "v.txt")}))


@pytest.mark.parametrize(("name", "settings"), [("mv-lstm", {"evidence": False}), ("bm25", {}), ("random", {})])
def test_an_untrained_matcher_without_evidence_says_so(name, settings):
    with pytest.raises(InputError, match="not trained, and without evidence it has nothing to score by"):
        Matcher(name, **settings).predict([("a", "b")])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("random", "bm25")])
def test_an_untrained_matcher_with_evidence_ranks_the_toy_task(name, tmp_path):
    matcher = Matcher(name, **SMALL[name])
    assert matcher.evaluate(HELD).metrics["P@1"] == 1.0
    assert repr(matcher).endswith("not trained>")
    scores = matcher.predict(HELD)
    np.testing.assert_allclose(scores, Matcher("late-interaction").predict(HELD), rtol=1e-3, atol=1e-3)
    matcher.save(tmp_path)
    np.testing.assert_array_equal(Matcher.load(tmp_path).predict(HELD), scores)


def test_probabilities_need_a_calibrated_matcher(trained, tmp_path):
    trained.save(tmp_path)
    change_record(tmp_path / "config.json", calibration=None)
    loaded = Matcher.load(tmp_path)
    with pytest.raises(InputError, match="not calibrated"):
        loaded.predict(HELD, as_probability=True)
    assert loaded.calibrate(HELD).calibration == trained.calibration


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        ("mvlstm", {}, "Did you mean 'mv-lstm'"),
        ("mv-lstm", {"kk": 3}, "mv-lstm: No setting named 'kk'. Did you mean 'k'"),
        ("mv-lstm", {"k": 0}, "k=0 is out of range: it must be at least 1"),
        ("mv-lstm", {"k": "many"}, "k='many' is not a whole number"),
        ("mv-lstm", {"k": 2.5}, "k=2.5 is not a whole number"),
        ("mv-lstm", {"dropout": 1.0}, "at least 0 and below 1"),
        ("mv-lstm", {"rescale": "maybe"}, "not true or false"),
    ],
)
def test_an_unknown_model_or_invalid_setting_is_refused(model, settings, said):
    with pytest.raises(InputError, match=said):
        Matcher(model, **settings)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("harm", ["missing", "short", "empty", "changed"])
def test_a_damaged_folder_is_refused(trained, tmp_path, name, harm):
    trained.save(tmp_path)
    content = (tmp_path / name).read_bytes()
    if harm == "missing":
        (tmp_path / name).unlink()
    else:
        changed = {"short": content[: len(content) // 2], "empty": b"", "changed": content[:-9] + b"x" * 9}[harm]
        (tmp_path / name).write_bytes(changed)
    with pytest.raises(InputError, match=name):
        Matcher.load(tmp_path)


@pytest.mark.parametrize(
    ("number", "fix"), [(99, "install a newer version"), (1, "copy the folder again, or train again")]
)
def test_another_format_is_refused(trained, tmp_path, number, fix):
    trained.save(tmp_path)
    change_record(tmp_path / "config.json", format=number)
    with pytest.raises(InputError, match=f"has format {number}, and this version reads format 4: {fix}"):
        Matcher.load(tmp_path)


def peak_kilobytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"settings": {"hidden": 10000, "dim": 6}}, r"model\.safetensors does not fit the model"),
        ({"settings": {"hidden": 10**9}}, "hidden=1000000000 is out of range"),
        ({"settings": {"k": "many"}}, "k='many' is not a whole number"),
        ({"settings": []}, "settings is .*, not an object"),
        ({"max_length": "50"}, "max_length is '50', not of type int"),
        ({"max_length": 0}, "max_length is 0, not at least 1"),
        ({"calibration": {"slope": "a", "offset": 0, "threshold": 0}}, "slope is 'a', not a number"),
        ({"calibration": {"slope": -1, "offset": 0, "threshold": 0}}, "slope is -1.0: it must be at least 0"),
        ({"history": {"epochs": [1]}}, r"epochs\[0\] is 1, not an object"),
        ({"training": {"lr": None}}, "lr is None"),
        ({"data": {"train": {"pairs": "x"}}}, "train has no field"),
        ({"model": "mvlstm"}, "Did you mean 'mv-lstm'"),
        ({"files": {}}, "files has no checksum of tokenizer.json"),
        ({"files": {"tokenizer.json": "", "model.safetensors": "", "../x": ""}}, "outside of the folder"),
    ],
)
def test_a_wrong_value_in_a_model_folder_is_one_line_and_takes_no_memory(trained, tmp_path, changes, said):
    trained.save(tmp_path)
    change_record(tmp_path / "config.json", **changes)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak, which other tests may have raised
    before = peak_kilobytes()
    with pytest.raises(InputError, match=said):
        Matcher.load(tmp_path)
    assert peak_kilobytes() < before + 500_000


def test_only_the_vocabulary_of_a_tokenizer_file_is_read(trained, tmp_path):
    """Padding to a billion tokens took all memory, and a normalizer could take any time."""
    trained.save(tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_bytes())
    padding = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    content |= {"padding": padding, "normalizer": {"type": "Replace", "pattern": {"Regex": "(a*)*b"}, "content": ""}}
    changed = json.dumps(content).encode()
    (tmp_path / "tokenizer.json").write_bytes(changed)
    files = json.loads((tmp_path / "config.json").read_bytes())["files"]
    change_record(tmp_path / "config.json", files=files | {"tokenizer.json": hashlib.sha256(changed).hexdigest()})
    np.testing.assert_array_equal(Matcher.load(tmp_path).predict(HELD), trained.predict(HELD))


def test_the_card_has_data_settings_results_and_command(trained, tmp_path):
    trained.save(tmp_path, results={"test": {"MAP": 0.5}}, command="pairlight train x")
    card = (tmp_path / "README.md").read_text()
    for said in (
        "# mv-lstm",
        "Wan et al.",
        "| train | 160 | 40 |",
        "| k | ",
        "| test | MAP | 0.5000 |",
        "pairlight train x",
    ):
        assert said in card


def test_an_unavailable_device_is_refused(pairs):
    for device in ("warp", "meta"):
        with pytest.raises(InputError, match=f"device='{device}' cannot be used"):
            Matcher("mv-lstm", **SMALL["mv-lstm"]).fit(pairs, HELD, device=device, **QUICK)


@pytest.mark.parametrize("name", ["anmm", "drmm", "pacrr", "knrm", "mv-lstm"])
def test_a_word_without_a_frozen_vector_gets_zero_where_the_model_asks_for_it(name, tmp_path):
    pairs = overlap(20, seed=0)
    words = sorted({word for text in pairs.texts for word in text.split()})
    lines = [
        f"{word} {' '.join(str(0.1 * (number + place)) for place in range(4))}" for number, word in enumerate(words)
    ]
    (tmp_path / "some.vec").write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")
    matcher = Matcher(name).fit(pairs, vectors=str(tmp_path / "some.vec"), freeze=True, epochs=0, progress=False)
    table = matcher.scorer.model.word_vectors
    assert table is not None
    row = table[matcher.scorer.tokenizer.ids[words[0]]]
    assert bool(row.any()) == (name in ("knrm", "mv-lstm"))
