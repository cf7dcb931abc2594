import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pairlight.core.errors import InputError
from pairlight.text import tokenizer as module
from pairlight.text.tokenizer import IDENTITIES, UNKNOWN, Tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.fit(["The cat sat on the mat.", "A dog, a cat!", "the mat"])


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
def test_text_splits_into_words_and_marks(tokenizer, text, words):
    assert tokenizer.split(text) == words


@given(st.lists(st.text(st.sampled_from("ab'sΣé\u0301ﬁ你3,.-\t\n\u00a0\u00a8\u1100\u1161 ")), max_size=6).map(" ".join))
@example("dog 's 1, 000 \u0301a a\u0301  ")
def test_no_word_reaches_over_a_space(tokenizer, text):
    normal = tokenizer.backend.normalizer.normalize_str(text)
    assert tokenizer.split(text) == [word for word, _ in tokenizer.backend.pre_tokenizer.pre_tokenize_str(normal)]


def test_memory_of_what_was_split_has_a_bound(monkeypatch):
    monkeypatch.setattr(module, "CHUNKS", 2)
    tokenizer = Tokenizer.fit(["a b c d"])
    assert tokenizer.split("a-b c d e c") == ["a", "-", "b", "c", "d", "e", "c"]
    assert list(tokenizer.chunks) == ["a-b", "c"]


def test_only_short_chunks_are_remembered():
    tokenizer = Tokenizer.fit(["a"])
    texts = ["好" * 20, "你" * 21 + " b"]
    assert [len(tokenizer.split(text)) for text in texts * 2] == [20, 22] * 2
    assert list(tokenizer.chunks) == ["好" * 20, "b"]


def test_frequent_words_come_first_and_equals_in_order_of_the_alphabet(tokenizer):
    assert tokenizer.pieces[:6] == ["[PAD]", "[UNK]", "the", "a", "cat", "mat"]


def test_rare_words_are_left_out_by_the_frequency_floor():
    known = Tokenizer.fit(["red red blue", "red blue green"], min_count=2)
    assert known.pieces[2:] == ["red", "blue"]


def test_unknown_words_keep_an_identity_beyond_the_vocabulary(tokenizer):
    ids = tokenizer.encode(["zebra zebra quagga the"], 10).ids
    assert ids[0] == ids[1] != ids[2]
    assert (ids[:3] >= tokenizer.vocab).all()
    assert (ids[:3] < tokenizer.vocab + IDENTITIES).all()
    assert ids[3] == tokenizer.places["the"]


def test_encoding_cuts_at_the_limit_and_counts_what_it_cut(tokenizer):
    encoded = tokenizer.encode(["the " * 100_000, "the cat"], 50)
    assert encoded.lengths.tolist() == [50, 2]
    assert encoded.cut == 1


def test_a_text_without_words_becomes_one_unknown_word(tokenizer):
    encoded = tokenizer.encode(["", "the"], 5)
    assert encoded.lengths.tolist() == [1, 1]
    assert encoded.ids[0] >= tokenizer.vocab or encoded.ids[0] == UNKNOWN


def test_tokens_tell_where_they_stand_in_the_text_as_given(tokenizer):
    text = "Ｔhe  CAFÉ's 你好 👍"
    for token in tokenizer.tokens(text):
        assert tokenizer.split(text[token.start : token.end]) == [token.text]
    assert [token.text for token in tokenizer.tokens(text)] == ["the", "café", "'s", "你", "好", "👍"]


def test_a_saved_tokenizer_gives_the_same_numbers(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    texts = ["the cat sat", "a zebra 你"]
    np.testing.assert_array_equal(loaded.encode(texts, 9).ids, tokenizer.encode(texts, 9).ids)


@pytest.mark.parametrize("content", ["", "{}", '{"model": 3}', "\x00\x01"])
def test_a_damaged_tokenizer_file_is_told(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match="damaged"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_extending_keeps_every_number_and_adds_new_words_behind(tokenizer):
    more = tokenizer.extended(["the zebra runs"])
    assert more.pieces[: tokenizer.vocab] == tokenizer.pieces
    assert more.pieces[tokenizer.vocab :] == ["runs", "zebra"]


def test_letters_spell_each_distinct_word_once():
    tokenizer = Tokenizer.fit(["candy cane"], view="trigrams")
    encoded = tokenizer.encode(["candy cane candy", "cat"], 9)
    assert encoded.ids.tolist() == [1, 2, 1, 3]
    spelt = [[tokenizer.pieces[p] for p in row if p] for row in encoded.spelling]
    assert spelt == [[], ["#ca", "can", "and", "ndy", "dy#"], ["#ca", "can", "ane", "ne#"], ["#ca"]]


def test_an_unknown_view_is_refused():
    with pytest.raises(InputError, match="views are words, trigrams, ngraphs"):
        Tokenizer.fit(["a"], view="syllables")
