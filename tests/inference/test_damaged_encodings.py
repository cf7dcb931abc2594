"""A damaged file of encodings is refused with one clear line; it never changes a ranking and never crashes."""

import contextlib
import json

import numpy as np
import pytest

from pairlight import Collection, InputError, Matcher
from pairlight.core import checked_file
from pairlight.core.checked_file import CheckedFile, DamagedFileError, write_checked
from pairlight.inference.encodings import Encodings
from toy_pairs import WORDS, overlap

QUERY = " ".join(WORDS[:5])
MESSAGE = "damaged, or not a file of encodings|has the format|another model"


@pytest.fixture(scope="module", params=["mv-lstm", "late-interaction", "dssm"])
def case(request, pairs, tmp_path_factory):
    """A matcher, the bytes of a file of encodings, and a file to damage."""
    options = {"vectors": "none", "progress": False, "epochs": 1}
    name = request.param
    matcher = Matcher(name) if name == "late-interaction" else Matcher(name).fit(pairs, overlap(6, seed=3), **options)
    g = np.random.default_rng(0)
    texts = Collection([f"id{i}" for i in range(30)], [" ".join(g.choice(WORDS, n)) for n in g.integers(1, 9, 30)])
    path = tmp_path_factory.mktemp("damaged") / f"{name}.safetensors"
    with pytest.MonkeyPatch.context() as small:
        small.setattr(checked_file, "BLOCK", 2**7)
        matcher.encode(texts).save(path)
        yield matcher, path.read_bytes(), path


def ranking(matcher, path):
    return matcher.rank(QUERY, Encodings.load(path), return_documents=True)


def test_every_bit_that_is_read_is_checked(case):
    matcher, whole, path = case
    path.write_bytes(whole)
    expected = ranking(matcher, path)
    g = np.random.default_rng(1)
    header = 8 + int.from_bytes(whole[:8], "little")
    offsets = {*range(0, header, 7), *g.integers(header, len(whole), 300).tolist(), len(whole) - 1}
    for offset in sorted(offsets):
        damaged = bytearray(whole)
        damaged[offset] ^= 1 << int(g.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=MESSAGE):
            Encodings.load(path, verify=True)
        with contextlib.suppress(InputError):
            assert ranking(matcher, path) == expected  # where the damage is in an array that is not needed
    path.write_bytes(whole)
    assert ranking(matcher, path) == expected


def test_a_file_that_ends_early_or_late_is_refused(case):
    _, whole, path = case
    for size in {*range(0, len(whole), max(1, len(whole) // 150)), len(whole) - 1}:
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=MESSAGE):
            Encodings.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(InputError, match=MESSAGE):
        Encodings.load(path)


def with_arrays(path, change):
    """Write the file again after a change of its arrays, with checksums that fit."""
    file = CheckedFile(path)
    arrays = {name: np.array(array) for name, array in file.arrays.items() if name != checked_file.CHECKSUMS}
    change(arrays)
    write_checked(path, file.about, arrays)


@pytest.mark.parametrize("name", ["start", "x", "ids", "utf8_start", "subwords_start", "products", "reach", "factors"])
def test_arrays_of_other_shapes_types_and_names_are_refused_even_with_fitting_checksums(case, name):
    matcher, whole, path = case

    def dropped(arrays):
        arrays[name] = arrays[name][1:]

    def other_type(arrays):
        arrays[name] = arrays[name].astype(np.uint8)

    def deeper(arrays):
        arrays[name] = arrays[name][None]

    def renamed(arrays):
        arrays["unknown"] = arrays.pop(name)

    path.write_bytes(whole)
    if name not in CheckedFile(path).arrays:
        pytest.skip(f"{matcher.name} has no {name}")
    for change in (dropped, other_type, deeper, renamed):
        path.write_bytes(whole)
        with_arrays(path, change)
        with pytest.raises(InputError, match=MESSAGE):
            Encodings.load(path)


def test_numbers_outside_of_their_limits_are_refused_even_with_fitting_checksums(case):
    matcher, whole, path = case

    def backwards(arrays):
        arrays["start"][1:3] = arrays["start"][2:0:-1]

    def beyond(arrays):
        arrays["utf8_start"][3] = 10**12

    def narrower(arrays):
        arrays["x"] = np.zeros((len(arrays["x"]), 3), np.float32)

    def unknown_word(arrays):
        arrays["ids" if "subwords" not in arrays else "subwords"][0] = 10**8

    def negative_word(arrays):
        arrays["ids" if "subwords" not in arrays else "subwords"][0] = -5

    for change in (backwards, beyond, narrower, unknown_word, negative_word):
        path.write_bytes(whole)
        with_arrays(path, change)
        with pytest.raises(InputError):
            ranking(matcher, path)


def test_a_negative_id_is_refused_where_words_of_a_model_s_own_table_are_matched_in_batches(tmp_path):
    matcher = Matcher("late-interaction", units="words")
    matcher.encode([*WORDS]).save(tmp_path / "encodings")

    def negative_word(arrays):
        arrays["ids"][0] = -5

    with_arrays(tmp_path / "encodings", negative_word)
    with pytest.raises(InputError, match="the id -5, and ids start at 0: encode the texts again"):
        ranking(matcher, tmp_path / "encodings")


def test_only_blocks_that_are_read_are_compared_with_their_checksums(case):
    _, whole, path = case
    start = 8 + int.from_bytes(whole[:8], "little")
    offsets = json.loads(whole[8:start])["text_ids"]["data_offsets"]
    damaged = bytearray(whole)
    damaged[start + offsets[1] - 1] ^= 1  # the last id, at the end of the last block
    path.write_bytes(damaged)
    encodings = Encodings.load(path)
    assert encodings[0]
    with pytest.raises(InputError, match=MESSAGE):
        encodings.text_id(29)
    with pytest.raises(InputError, match=MESSAGE):
        encodings.save(path.with_name("copy"))
    with pytest.raises(InputError, match=MESSAGE):
        Encodings.load(path, verify=True)


def test_a_checked_file_keeps_arrays_of_all_types_aligned(tmp_path):
    arrays = {
        "bytes": np.arange(7, dtype=np.uint8),
        "halves": np.ones((3, 3), np.float16),
        "long": np.arange(5),
        "none": np.zeros((4, 0), np.float32),
        "single": np.ones(3, np.float32),
    }
    write_checked(tmp_path / "f", {"format": "test"}, arrays)
    file = CheckedFile(tmp_path / "f")
    assert file.about == {"format": "test"}
    for name, array in arrays.items():
        file.check(name)
        np.testing.assert_array_equal(file.arrays[name], array)
        assert file.arrays[name].flags.aligned
    whole = (tmp_path / "f").read_bytes()
    for head in (b"[]", b'{"__metadata__": 3}', b"[" * 100_000, b'{"a": ' * 5000):
        (tmp_path / "f").write_bytes(len(head).to_bytes(8, "little") + head + whole)
        with pytest.raises(DamagedFileError):
            CheckedFile(tmp_path / "f")
