"""Divides texts of any length into overlapping windows of the length that a model reads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from pairlight.inference.scorer import Scorer
from pairlight.text.tokenizer import Token, TokenizedTexts

MAX_WINDOWS = 64  # of a text that are read, so that the cost of a long text has a bound
_CHARACTERS = 32  # read at first per word


@dataclass(frozen=True)
class Passage:
    """A part of a text, with its position in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Window:
    """The words `start` to `end` of the text with this number."""

    text: int
    start: int
    end: int
    is_whole: bool  # whether the text has no other words


def tokenized_for_windows(scorer: Scorer, texts: Sequence[str]) -> TokenizedTexts:
    """The words of texts, as many of each as its windows have."""
    return scorer.tokenizer.tokenize(texts, words_read(scorer))


def words_read(scorer: Scorer) -> int:
    """How many words of a right text are in its windows at most."""
    return scorer.right_length + (MAX_WINDOWS - 1) * _step(scorer.right_length)


def windows_of(lengths: Iterable[int], size: int) -> list[Window]:
    """The windows of texts of these lengths, in the order of the texts."""
    windows = []
    for text, words in enumerate(lengths):
        for start in range(0, max(1, words - size + _step(size)), _step(size)):
            start = max(0, min(start, words - size))  # the last window is as long as the others
            windows.append(Window(text, start, min(start + size, words), words <= size))
    return windows


def passages_of(scorer: Scorer, texts: Sequence[str], windows: Iterable[Window]) -> list[Passage]:
    """What is written in each window; the windows of a text follow each other."""
    passages: list[Passage] = []
    for number, group in groupby(windows, key=lambda each: each.text):
        text, of_text = texts[number], list(group)
        if of_text[0].is_whole:
            passages.append(Passage(text, 0, len(text)))
            continue
        tokens = _first_tokens(scorer, text, max(each.end for each in of_text))
        passages += [_passage(text, tokens[each.start : each.end]) for each in of_text]
    return passages


def _first_tokens(scorer: Scorer, text: str, count: int) -> list[Token]:
    """At least `count` tokens of a text, if it has them; the rest of a long text is not read."""
    read = _CHARACTERS * count
    while read < len(text):
        tokens = scorer.tokenizer.tokens(text[:read])
        if len(tokens) > count + 1:  # the last one, and the one before where it is a mark, may be cut
            return tokens
        read *= 4
    return scorer.tokenizer.tokens(text)


def _passage(text: str, tokens: Sequence[Token]) -> Passage:
    if not tokens:
        return Passage(text, 0, len(text))
    start, end = tokens[0].start, tokens[-1].end
    while start < end and text[start].isspace():  # a subword can begin with the space before it
        start += 1
    return Passage(text[start:end], start, end)


def _step(size: int) -> int:
    return max(1, size // 2)
