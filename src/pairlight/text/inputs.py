"""What a model reads of a text, declared once as data: words or character n-grams, and how many of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from pairlight.core.errors import InputError
from pairlight.text.ngrams import ngraphs, trigrams

InputKind = Literal["words", "trigrams", "ngraphs", "subwords"]

CHAR_NGRAMS: dict[str, Callable[[str], list[str]]] = {"trigrams": trigrams, "ngraphs": ngraphs}


@dataclass(frozen=True)
class InputSpec:
    """How texts become the ids that a model reads.

    words     each distinct word has an id
    trigrams  a word is its character trigrams, as in DSSM
    ngraphs   a word is its character n-grams of one to five letters, as in DUET
    subwords  the tokens of a fixed vocabulary with static vectors, see text/subwords.py
    """

    input_kind: InputKind = "words"
    max_vocab: int | None = None  # the most frequent words or n-grams that are kept; None keeps all
    max_lengths: tuple[str, str] | None = None  # the settings that bound the words of a left and of a right text
    pretrained_vectors: bool = False  # whether the model has word vectors that can start from pretrained ones
    random_oov: bool = True  # whether a word without a pretrained vector gets a random one when vectors are frozen
    parse_brackets: bool = False  # whether brackets around a text are read as its parse tree

    def __post_init__(self) -> None:
        if self.input_kind not in get_args(InputKind):
            raise InputError(
                f"There is no input kind {self.input_kind!r}: use one of {', '.join(get_args(InputKind))}."
            )

    def units(self, word: str) -> list[str]:
        """What a word contributes to the vocabulary: itself, or its character n-grams."""
        return [word] if self.input_kind == "words" else CHAR_NGRAMS[self.input_kind](word)


WORDS = InputSpec(pretrained_vectors=True)
