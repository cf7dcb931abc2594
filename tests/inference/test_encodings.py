"""Stored encodings give the scores of predict, in memory and from a file."""

import copy

import numpy as np
import pytest
import torch

from models.toy import CASES, Case, bare
from pairlight import Collection, InputError, Matcher
from pairlight.inference.agreement import agreement
from pairlight.inference.encodings import Encodings
from pairlight.layers.stored import LEFT_OUT
from pairlight.models import MODELS, model_class
from pairlight.models.base import DualEncoder
from toy_pairs import WORDS, overlap

DUAL_ENCODERS = [name for name in MODELS if issubclass(model_class(name), DualEncoder)]
QUICK = {"vectors": "none", "progress": False, "epochs": 1, "freeze": False}
HELD = overlap(6, seed=3)
rng = np.random.default_rng(5)
TEXTS = [" ".join(rng.choice(WORDS, n)) for n in (1, 5, 12, 3, 40, 7, 7, 2, 25, 9, 4, 6)] + [
    "unseen words",
    "((ama (elo iri)) bama)",
]
QUERY = " ".join(WORDS[:6])
cases = [case for case in CASES if case.name in DUAL_ENCODERS]
cases += [Case(case.name, bare(case.name, case.settings)) for case in cases if model_class(case.name).takes_evidence]


def scrambled(case, pairs):
    """A model with random weights, whose scores differ between texts."""
    matcher = Matcher(case.name, **case.settings).fit(pairs, HELD, **QUICK)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in matcher.scorer.model.parameters():
            parameter.normal_(0, 0.4)
    matcher.scorer.model.fit_statistics(matcher.scorer.token_ids(pairs.texts), pairs)
    return matcher


@pytest.fixture(scope="module", params=[True, False], ids=["evidence", "bare"])
def trained(request, pairs):
    case = next(case for case in cases if case.name == "mv-lstm")
    return scrambled(Case(case.name, case.settings | {"evidence": request.param}), pairs)


@pytest.fixture(scope="module")
def encodings(trained):
    return trained.encode(TEXTS)


@pytest.mark.filterwarnings("ignore:.*words and were truncated")  # at a model's own length, in both cases
@pytest.mark.parametrize("case", cases, ids=str)
def test_ranking_encodings_equals_predicting_texts(case, pairs, monkeypatch):
    monkeypatch.setattr("pairlight.inference.encodings.BLOCK", 60)  # several blocks, some of one text
    monkeypatch.setattr("pairlight.inference.encodings.CHUNK", 5)
    matcher = scrambled(case, pairs)
    encodings = matcher.encode(TEXTS)
    expected = matcher.predict([(QUERY, text) for text in TEXTS])
    assert len(np.unique(expected)) > 2
    np.testing.assert_allclose(matcher.score_encoded(QUERY, encodings), expected, rtol=1e-4, atol=1e-5)
    ranked = matcher.rank(QUERY, encodings, return_documents=True)
    assert [each["text"] for each in ranked] == [TEXTS[each["corpus_id"]] for each in ranked]
    np.testing.assert_allclose([each["score"] for each in ranked], np.sort(expected)[::-1], rtol=1e-4, atol=1e-5)
    assert len(matcher.rank(QUERY, encodings, top_k=3)) == 3


def test_a_long_text_does_not_widen_a_block_of_short_ones(trained, monkeypatch):
    texts = [*["bama dama"] * 30, "bama " * 40, *["dama"] * 30]
    encodings = trained.encode(texts)
    whole = trained.score_encoded(QUERY, encodings)
    monkeypatch.setattr("pairlight.inference.encodings.MAX_CELLS", 6 * 100)
    blocks = list(encodings.blocks(6, np.zeros(0)))
    assert [len(block.lengths) for block in blocks] == [30, 2, 29]
    assert max(len(block.lengths) * int(block.lengths.max()) for block in blocks) <= 100
    np.testing.assert_allclose(trained.score_encoded(QUERY, encodings), whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("dtype", "bound"), [("fp32", 0), ("fp16", 2**-11), ("int8", 0.5 / 127)])
def test_lower_precision_is_as_close_as_rounding_allows(encodings, dtype, bound):
    lower = encodings.astype(dtype)
    assert lower.dtype == dtype
    largest = np.abs(encodings.x).max(1, keepdims=True)
    whole = lower.astype("fp32").x
    assert (np.abs(whole - encodings.x) <= bound * largest * 1.001).all()
    assert (whole == encodings.x).all() == (dtype == "fp32")


def test_numbers_beyond_fp16_stay_finite_and_a_zero_row_stays_zero(encodings):
    x = np.zeros((3, 4), np.float32)
    x[0] = 1e6
    extreme = Encodings(x, np.array([0, 1, 2, 3]), encodings.utf8[:0], np.zeros(4, int), "mv-lstm", "")
    assert np.isfinite(extreme.astype("fp16").x).all()
    np.testing.assert_array_equal(extreme.astype("int8").astype("fp32").x[1:], 0)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
def test_a_file_restores_what_was_saved_and_is_memory_mapped(trained, encodings, dtype, tmp_path):
    lower = encodings.astype(dtype)
    lower.save(tmp_path / "texts.safetensors")
    loaded = Encodings.load(tmp_path / "texts.safetensors")
    assert isinstance(loaded.x, np.memmap)
    assert isinstance(loaded.utf8, np.memmap)
    assert loaded.dtype == dtype
    assert list(loaded) == TEXTS
    np.testing.assert_array_equal(trained.score_encoded(QUERY, loaded), trained.score_encoded(QUERY, lower))
    assert loaded.bytes_per_text == lower.bytes_per_text


def test_the_file_is_safetensors(trained, encodings, tmp_path):
    from safetensors.numpy import load_file

    encodings.astype("int8").save(tmp_path / "texts.safetensors")
    arrays = load_file(tmp_path / "texts.safetensors")
    np.testing.assert_array_equal(arrays["x"], encodings.astype("int8").x)
    evidence = {"subwords", "subwords_start", "products"} if trained.settings["evidence"] else set()
    rows = {"x", "scale", "factors", "reach", "ids", "start"}
    assert set(arrays) == rows | {"utf8", "utf8_start", "checksums"} | evidence


def test_ids_of_texts_are_stored_with_them(trained, tmp_path):
    texts = Collection(["a", "猫", ""], ["bama dama", "dama", "bama"])
    trained.encode(texts).astype("int8").save(tmp_path / "texts.safetensors")
    loaded = Encodings.load(tmp_path / "texts.safetensors")
    assert [loaded.text_id(number) for number in range(3)] == ["a", "猫", ""]
    ranked = trained.rank(QUERY, loaded)
    assert [each["id"] for each in ranked] == [texts.ids[each["corpus_id"]] for each in ranked]
    assert [each["id"] for each in trained.rank(QUERY, texts)] == [each["id"] for each in ranked]
    assert "id" not in trained.rank(QUERY, texts.texts)[0]
    assert "id" not in trained.rank(QUERY, trained.encode(Collection(None, texts.texts)))[0]
    with pytest.raises(InputError, match="There are 2 ids for 3 encoded texts"):
        loaded.with_text_ids(["a", "b"])
    path = tmp_path / "texts.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"text_ids"', b'"text_idz"'))
    with pytest.raises(InputError, match="damaged"):
        Encodings.load(path)


def test_a_damaged_file_is_refused(encodings, tmp_path):
    path = tmp_path / "texts.safetensors"
    encodings.save(path)
    whole = path.read_bytes()
    for damaged in (b"", b"junk", whole[:-1], whole[:100], whole.replace(b'"x"', b'"y"'), whole.replace(b"F32", b"F16"),
                    whole.replace(b"pairlight-enc", b"something-els"), b"\xff" * 64):  # fmt: skip
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"damaged, or not a file of encodings|has the format"):
            Encodings.load(path)
    with pytest.raises(InputError, match="cannot be read"):
        Encodings.load(tmp_path / "nothing")


def test_encodings_of_another_model_are_refused(trained, encodings, pairs):
    other = copy.deepcopy(trained)
    assert other.scorer.fingerprint() == trained.scorer.fingerprint()
    with torch.no_grad():
        other.scorer.model.word_vectors[3, 0] += 1
    with pytest.raises(InputError, match=r"made by another model \(mv-lstm\)"):
        other.rank(QUERY, encodings)
    again = copy.deepcopy(trained).fit(pairs, HELD, **QUICK)
    with pytest.raises(InputError, match="made by another model"):
        again.rank(QUERY, encodings)


def test_a_model_that_cannot_encode_texts_independently_says_so(pairs):
    matcher = Matcher("bm25").fit(pairs, HELD, progress=False)
    with pytest.raises(InputError, match=r"bm25 reads its two texts together.*mv-lstm"):
        matcher.encode(TEXTS)


def test_an_empty_collection_gives_an_empty_ranking(trained, tmp_path):
    none = trained.encode([], dtype="int8")
    none.save(tmp_path / "none")
    assert trained.rank(QUERY, none) == trained.rank(QUERY, Encodings.load(tmp_path / "none")) == []


def test_an_unknown_precision_is_refused(trained):
    with pytest.raises(InputError, match="'int4' is not one of fp32, fp16, int8"):
        trained.encode(TEXTS, dtype="int4")


def test_agreement_is_perfect_with_itself_and_high_with_int8(trained, encodings):
    queries = [QUERY, TEXTS[4]]
    same = agreement(trained.scorer, encodings, queries, "fp32")
    assert (same.spearman, same.top, same.queries, same.texts) == (pytest.approx(1), 1, 2, len(TEXTS))
    assert 0.9 < agreement(trained.scorer, encodings, queries, "int8").spearman <= 1
    with pytest.raises(InputError, match="compare fp32"):
        agreement(trained.scorer, encodings.astype("int8"), queries, "int8")


def collection(texts: int) -> list[str]:
    g = np.random.default_rng(1)
    return [" ".join(g.choice(WORDS, n)) for n in g.integers(1, 12, texts)]


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize(
    "settings", [{"interaction": "cosine"}, {"interaction": "tensor"}, {"mlp": 0}, {"k": 1}], ids=str
)
def test_the_best_texts_are_those_of_all_scores_though_others_are_left_out(pairs, settings, dtype, monkeypatch):
    monkeypatch.setattr("pairlight.layers.stored.LARGE", 100)
    matcher = scrambled(Case("mv-lstm", {"hidden": 4, "dim": 5, **settings}), pairs)
    with torch.no_grad():
        matcher.scorer.model.weight.fill_(0.001)  # what the model adds is less than how much evidence differs
    matcher.scorer.model.evidence.init_weights()
    encodings = matcher.encode(collection(800), dtype=dtype)
    every, best = matcher.score_encoded(QUERY, encodings), matcher.scorer.score_encoded(QUERY, encodings, top_k=10)
    left_out = best == LEFT_OUT
    assert 0.2 < left_out.mean() < 1
    np.testing.assert_array_equal(best[~left_out], every[~left_out])
    order = np.argsort(-every, kind="stable")[:10]
    assert [each["corpus_id"] for each in matcher.rank(QUERY, encodings, top_k=10)] == order.tolist()


@pytest.mark.filterwarnings("ignore:.*words and were truncated")
@pytest.mark.parametrize(
    "case",
    [
        case
        for case in cases
        if case.name in ("mv-lstm", "amv-lstm", "late-interaction") and case.settings.get("units") != "words"
    ],
    ids=str,
)
def test_one_pass_gives_the_scores_of_batches(case, pairs, monkeypatch):
    matcher = scrambled(case, pairs)
    encodings = matcher.encode(TEXTS)
    with torch.no_grad():
        assert matcher.scorer.model.stored_scorer() is not None
    for dtype, tolerance in (("fp32", 1e-5), ("fp16", 1e-5), ("int8", 1e-3)):
        lower = encodings.astype(dtype)
        found = matcher.score_encoded(QUERY, lower)
        with monkeypatch.context() as reference:
            reference.setenv("PAIRLIGHT_KERNELS", "reference")  # there, encodings are matched in batches
            np.testing.assert_allclose(found, matcher.score_encoded(QUERY, lower), rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:.*words and were truncated")
def test_a_model_that_looks_vectors_up_stores_words_alone(tmp_path):
    matcher = Matcher("late-interaction")
    encodings = matcher.encode(TEXTS, dtype="int8")
    assert encodings.x.shape[1] == 0
    encodings.save(tmp_path / "texts")
    loaded = Encodings.load(tmp_path / "texts", verify=True)
    np.testing.assert_array_equal(matcher.score_encoded(QUERY, loaded), matcher.score_encoded(QUERY, encodings))
    assert loaded.bytes_per_text < 8 * max(map(len, TEXTS))
