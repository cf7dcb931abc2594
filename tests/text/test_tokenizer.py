"""Texts are split into words, and words are mapped to ids."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pairlight.core.errors import InputError
from pairlight.text import tokenizer as module
from pairlight.text.inputs import WORDS, InputSpec
from pairlight.text.tokenizer import OOV_IDS, UNKNOWN, Tokenizer, WordSplitter


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.fit(["The cat sat on the mat.", "A dog, a cat!", "the mat"], WORDS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop", ["don", "'", "t", "stop"]),
        ("the dog's bone", ["the", "dog", "'s", "bone"]),
        ("1,000.5 cats in 2016", ["1,000.5", "cats", "in", "2016"]),
        ("你好世界", ["你", "好", "世", "界"]),
        ("ＡＢＣ ﬁne", ["abc", "fine"]),
        ("cafe\u0301", ["café"]),
        ("👍 ok", ["👍", "ok"]),
        ("a-b_c", ["a", "-", "b", "_", "c"]),
        ("", []),
        (" \t\n", []),
    ],
)
def test_a_text_is_split_into_words_and_punctuation_marks(tokenizer, text, words):
    assert tokenizer.split(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't STOP: été 42, 猫和dog🐈", ["don", "t", "stop", "été", "42", "猫", "和", "dog"]),
        ("the dog's 1,000.5 bones!", ["the", "dog", "'s", "1,000.5", "bones"]),
        ("हिन्दी भाषा, cafe\u0301 你好 A_b", ["हिन्दी", "भाषा", "café", "你", "好", "a", "b"]),
        ("?! ... 👍 \u0301", []),
        ("½ ²", ["1", "2", "2"]),
    ],
)
def test_words_without_punctuation_have_a_letter_or_a_digit(text, words):
    assert WordSplitter().words(text) == words


@given(st.lists(st.text(st.sampled_from("ab'sΣé\u0301ﬁ你3,.-\t\n\u00a0\u00a8\u1100\u1161 ")), max_size=6).map(" ".join))
@example("dog 's 1, 000 \u0301a a\u0301  ")
def test_no_word_extends_over_a_space(tokenizer, text):
    normal = tokenizer.backend.normalizer.normalize_str(text)
    assert tokenizer.split(text) == [word for word, _ in tokenizer.backend.pre_tokenizer.pre_tokenize_str(normal)]


def test_the_cache_of_split_chunks_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_CHUNKS", 2)
    splitter = WordSplitter()
    assert splitter.split("a-b c d e c") == ["a", "-", "b", "c", "d", "e", "c"]
    assert list(splitter.chunks) == ["a-b", "c"]


def test_only_short_chunks_are_cached():
    splitter = WordSplitter()
    texts = ["好" * 20, "你" * 21 + " b"]
    assert [len(splitter.split(text)) for text in texts * 2] == [20, 22] * 2
    assert list(splitter.chunks) == ["好" * 20, "b"]


def test_the_vocabulary_is_sorted_by_frequency_and_then_alphabetically(tokenizer):
    assert tokenizer.vocabulary[:6] == ["[PAD]", "[UNK]", "the", "a", "cat", "mat"]


def test_words_below_the_minimum_count_are_left_out():
    tokenizer = Tokenizer.fit(["red red blue", "red blue green"], WORDS, min_count=2)
    assert tokenizer.vocabulary[2:] == ["red", "blue"]


def test_only_the_most_frequent_units_are_kept():
    tokenizer = Tokenizer.fit(["red red blue blue green"], InputSpec(max_vocab=2))
    assert tokenizer.vocabulary[2:] == ["blue", "red"]


def test_out_of_vocabulary_words_have_ids_of_their_own_beyond_the_vocabulary(tokenizer):
    ids = tokenizer.tokenize(["zebra zebra quagga the"], 10).ids
    assert ids[0] == ids[1] != ids[2]
    assert (ids[:3] >= tokenizer.vocab_size).all()
    assert (ids[:3] < tokenizer.vocab_size + OOV_IDS).all()
    assert ids[3] == tokenizer.ids["the"]


def test_texts_are_truncated_at_the_limit_and_truncated_texts_are_counted(tokenizer):
    tokenized = tokenizer.tokenize(["the " * 100_000, "the cat"], 50)
    assert tokenized.lengths.tolist() == [50, 2]
    assert tokenized.truncated == 1


def test_a_text_without_words_becomes_one_unknown_word(tokenizer):
    tokenized = tokenizer.tokenize(["", "the"], 5)
    assert tokenized.lengths.tolist() == [1, 1]
    assert tokenized.ids[0] >= tokenizer.vocab_size or tokenized.ids[0] == UNKNOWN


def test_progress_is_reported_every_thousand_texts(tokenizer):
    reported: list[float] = []
    tokenizer.tokenize(["the"] * 2500, 5, progress=reported.append)
    assert reported == [0.4, 0.8]


def test_tokens_have_their_positions_in_the_original_text(tokenizer):
    text = "Ｔhe  CAFÉ's 你好 👍"
    for token in tokenizer.tokens(text):
        assert tokenizer.split(text[token.start : token.end]) == [token.text]
    assert [token.text for token in tokenizer.tokens(text)] == ["the", "café", "'s", "你", "好", "👍"]


def test_a_tokenizer_restored_from_bytes_gives_the_same_ids(tokenizer):
    restored = Tokenizer.from_bytes(tokenizer.to_bytes(), WORDS, "tokenizer.json")
    texts = ["the cat sat", "a zebra 你"]
    np.testing.assert_array_equal(restored.tokenize(texts, 9).ids, tokenizer.tokenize(texts, 9).ids)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"model": 3}', b"\x00\x01", b"\xff"])
def test_damaged_content_is_refused_with_the_name_of_its_source(content):
    with pytest.raises(InputError, match=r"^tokenizer\.json is damaged"):
        Tokenizer.from_bytes(content, WORDS, "tokenizer.json")


def test_extending_keeps_all_ids_and_adds_new_words_after_them(tokenizer):
    extended = tokenizer.extended(["the zebra runs"])
    assert extended.vocabulary[: tokenizer.vocab_size] == tokenizer.vocabulary
    assert extended.vocabulary[tokenizer.vocab_size :] == ["runs", "zebra"]


def test_added_words_get_ids_after_all_others_once(tokenizer):
    extended = tokenizer.with_words(["zebra", "the"])
    assert extended.vocabulary == [*tokenizer.vocabulary, "zebra"]


def test_each_distinct_word_has_one_row_of_character_ngrams():
    tokenizer = Tokenizer.fit(["candy cane"], InputSpec("trigrams"))
    tokenized = tokenizer.tokenize(["candy cane candy", "cat"], 9)
    assert tokenized.ids.tolist() == [1, 2, 1, 3]
    assert tokenized.ngrams is not None
    rows = [[tokenizer.vocabulary[id_] for id_ in row if id_] for row in tokenized.ngrams]
    assert rows == [[], ["#ca", "can", "and", "ndy", "dy#"], ["#ca", "can", "ane", "ne#"], ["#ca"]]


def test_a_word_is_known_if_one_of_its_ngrams_is():
    tokenizer = Tokenizer.fit(["candy"], InputSpec("trigrams"))
    assert tokenizer.knows("cat")
    assert not tokenizer.knows("dog")


@pytest.mark.parametrize("limit", [1, 5, 50])
def test_the_first_words_of_a_long_text_are_those_of_the_whole_text(limit):
    g = random.Random(limit)
    odd = [
        "",
        " ",
        "\t",
        "猫" * 500,
        "x" * 5000,
        "1,2.3," * 300,
        "it's don't " * 50,
        "ﬁ ½ é\u0301\u0301" * 40,
        "...!?" * 400,
    ]
    odd += ["".join(g.choice("ab 1.,'猫\u0301éﬁ\u200d\n") for _ in range(g.randint(0, 4000))) for _ in range(100)]
    tokenizer = Tokenizer.fit(odd[::2], InputSpec())
    for _ in range(2):  # the second time, chunks are looked up
        found = tokenizer.tokenize(odd, limit)
        words = [WordSplitter().split(text) or [""] for text in odd]
        expected = [tokenizer._numberer({})(each[:limit]) for each in words]
        assert [found.ids[a:b].tolist() for a, b in itertools.pairwise(found.start)] == expected
        assert found.truncated == sum(len(each) > limit for each in words)
    oov = {id_ for ids in expected for id_ in ids if id_ >= len(tokenizer.ids)} - set(tokenizer._numberer({})([""]))
    assert tokenizer.oov_words(odd, limit).keys() == oov


def test_the_rest_of_a_long_text_is_not_split(monkeypatch):
    tokenizer = Tokenizer.fit(["a b"], InputSpec())
    read = []
    split = WordSplitter.split
    monkeypatch.setattr(WordSplitter, "split", lambda self, text: read.append(len(text)) or split(self, text))
    assert tokenizer.tokenize(["word " * 10**6, "猫" * 10**6], 50).truncated == 2
    assert sum(read) < 10**4
