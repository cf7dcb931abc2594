"""Word vectors are read from every common format, and trained reproducibly."""

import gzip
import struct

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.text.vectors import load_vectors, skip_gram

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
    vectors = load_vectors("glove-50d", ["the", "cat", "zzzqqq"], extra=2)
    assert vectors.rows.shape == (5, 50)
    assert vectors.found.tolist() == [True, True, False, True, True]
    assert vectors.words[3:] == [",", "."]
