"""Subwords cover every text, keep their positions, and refer to the vectors of the installed package."""

import json
import platform
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairlight.core.errors import InputError
from pairlight.text import subwords
from pairlight.text.inputs import InputSpec
from pairlight.text.subwords import SubwordTokenizer, document_frequency, subword_digest, subword_vectors

INPUTS = InputSpec(input_kind="subwords")
TOKENIZER = SubwordTokenizer(INPUTS)

TEXTS = """
from pathlib import Path
from pairlight.text.subwords import SUBWORDS

def megabytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))

def read(first):
    for text in range(first, first + 4000):
        SUBWORDS.tokens(f"{text} " * 20)

read(0)
before = megabytes()
read(4000)
print(megabytes() - before)
"""


@pytest.mark.parametrize("text", ["Where is my parcel?", "你好 world", "👍👍", "İstanbul", "naïve café", "x" * 500])
def test_every_text_has_known_ids(text):
    tokenized = TOKENIZER.tokenize([text], 64)
    assert len(tokenized.ids) >= 1
    assert tokenized.ids.min() > 1  # neither padding nor unknown
    assert tokenized.ids.max() < TOKENIZER.vocab_size == len(subword_vectors())


def test_an_empty_text_has_one_token():
    assert TOKENIZER.tokenize(["", "   "], 64).lengths.tolist() == [1, 1]


def test_case_and_repeated_spaces_do_not_matter():
    a, b = (TOKENIZER.tokenize([text], 64).ids.tolist() for text in ("Where  is\tMY parcel", " where is my parcel "))
    assert a == b


def test_tokens_are_parts_of_the_original_text():
    text = "Where is my PARCEL? 你好"
    tokens = TOKENIZER.tokens(text)
    assert len(tokens) == len(TOKENIZER.tokenize([text], 64).ids)
    assert all(text[token.start : token.end].strip().lower() == token.text.strip() for token in tokens)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("where is my parcel?", ["where", "is", "my", "parcel", "?"]),
        ("unbelievableness!", ["unbelievableness", "!"]),
        ("你好 👍", ["你", "好", "👍"]),
    ],
)
def test_subwords_are_grouped_into_words(text, words):
    numbers, tokens = TOKENIZER.word_numbers(text), TOKENIZER.tokens(text)
    assert numbers == sorted(numbers)
    found = []
    for number in range(numbers[-1] + 1):
        parts = [token for token, word in zip(tokens, numbers, strict=True) if word == number]
        found.append(text[parts[0].start : parts[-1].end].strip())
    assert found == words


def test_long_texts_are_truncated_and_counted():
    tokenized = TOKENIZER.tokenize(["parcel " * 10_000, "parcel", "x " * 10], 10)
    assert tokenized.truncated == 1  # the last has exactly ten
    assert tokenized.lengths.max() == 10


def test_many_texts_are_tokenized_as_each_alone(monkeypatch):
    monkeypatch.setattr(subwords, "_CHUNK", 3)
    texts = [f"text number {n} of many" for n in range(10)]
    together = TOKENIZER.tokenize(texts, 64)
    for t, text in enumerate(texts):
        alone = TOKENIZER.tokenize([text], 64).ids
        np.testing.assert_array_equal(together.ids[together.start[t] : together.start[t + 1]], alone)


PARTS = ["a", "B", "the ", "King", "é", "İ", "Σ", "你", "한", "👍", "\u0301", "1", ".", "'", " ", "  ", "\t", "\n"]
PARTS += ["\x1c", "\x1f", "\x85", "\xa0", "\u2003", "\u2028", "\u3000", "\ufeff"]  # spaces, for some
PARTS += ["\u2581", "\u2581\u2581", "<s>", "</s>", "<unk>", "<0x0A>"]  # what the tokenizer writes itself


@settings(max_examples=300, deadline=None)  # the first one builds a tokenizer
@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=20).map("".join) | st.text(max_size=20), max_size=8))
def test_word_by_word_a_text_has_the_ids_of_the_whole_text(texts):
    tokenized = TOKENIZER.tokenize(texts, 12)
    for t, text in enumerate(texts):
        whole = subwords._backend().encode(text, add_special_tokens=False).ids or [29871]
        assert tokenized.ids[tokenized.start[t] : tokenized.start[t + 1]].tolist() == whole[:12]
    assert tokenized.truncated == sum(len(subwords._backend().encode(t, add_special_tokens=False)) > 12 for t in texts)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=20).map("".join) | st.text(max_size=20)))
def test_a_tokenizer_of_few_words_gives_their_ids(texts):
    words = [word for text in texts for word in text.split() if not subwords._OWN.search(word)]
    small, whole = (each.encode_batch_fast(words, add_special_tokens=False) for each in backends(words))
    assert [each.ids for each in small] == [each.ids for each in whole]


def backends(words):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subwords, "_vocabulary", lambda: VOCABULARY)  # reading it takes most of the time
        return subwords._backend_of(words), subwords._backend()


VOCABULARY = subwords._vocabulary()


def test_the_whole_tokenizer_is_built_for_many_words_or_for_more_words():
    for texts in (["where is my parcel", "a tracking page"], [" ".join(f"number{n}" for n in range(500))]):
        expected = [subwords._ids(subwords._backend().encode(text, add_special_tokens=False).ids) for text in texts]
        subwords._backend.cache_clear()
        words = subwords._WordIds()
        assert words.of_texts(texts) == expected
        assert subwords._backend.cache_info().currsize == (len(texts) == 1)
        words.of_texts(["one more"])
        assert subwords._backend.cache_info().currsize == 1


def test_the_cache_of_words_begins_anew_when_it_is_full(monkeypatch):
    monkeypatch.setattr(subwords, "_CACHE_BYTES", 5000)
    words = subwords._WordIds()
    texts = [f"number{n} of many" for n in range(200)]
    expected = [words._of_whole(text) for text in texts]
    for at in range(0, 200, 5):
        assert words.of_texts(texts[at : at + 5]) == expected[at : at + 5]
        assert len(words._known) <= 5000 / subwords._WORD_BYTES + 7


@pytest.mark.skipif(platform.system() != "Linux", reason="reads memory from /proc")
def test_positions_of_many_texts_leave_nothing_in_memory():
    growth = subprocess.run([sys.executable, "-c", TEXTS], capture_output=True, text=True, check=True)
    assert float(growth.stdout) < 3  # 18 with the cache of the package


def test_a_saved_tokenizer_is_a_checksum_and_other_vectors_are_refused():
    content = TOKENIZER.to_bytes()
    assert json.loads(content) == {"subwords": subword_digest()}
    assert SubwordTokenizer.from_bytes(content, INPUTS, "file").vocab_size == TOKENIZER.vocab_size
    with pytest.raises(InputError, match="file refers to other subword vectors"):
        SubwordTokenizer.from_bytes(b'{"subwords": "another"}', INPUTS, "file")
    with pytest.raises(InputError, match="file is damaged"):
        SubwordTokenizer.from_bytes(b"junk", INPUTS, "file")


def test_common_subwords_have_a_higher_document_frequency_than_rare_ones():
    frequency, texts = document_frequency()
    the, parcel = (int(TOKENIZER.tokenize([word], 4).ids[0]) for word in ("the", "parcel"))
    assert len(frequency) == TOKENIZER.vocab_size
    assert texts >= frequency[the] > 100 * frequency[parcel]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install wordllama"):
        subwords._package_file("anything")
