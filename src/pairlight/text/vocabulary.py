"""The tokenizer that an input needs: learned from texts, or read from a model folder."""

from collections.abc import Iterable

from pairlight.text.inputs import InputSpec
from pairlight.text.subwords import SubwordTokenizer
from pairlight.text.tokenizer import Tokenizer

AnyTokenizer = Tokenizer | SubwordTokenizer


def fit_tokenizer(texts: Iterable[str], inputs: InputSpec, *, min_count: int = 1) -> AnyTokenizer:
    """A tokenizer for these texts; that of subwords needs none."""
    if inputs.input_kind == "subwords":
        return SubwordTokenizer(inputs)
    return Tokenizer.fit(texts, inputs, min_count=min_count)


def read_tokenizer(content: bytes, inputs: InputSpec, source: str) -> AnyTokenizer:
    """Read what a tokenizer's `to_bytes` wrote; `source` is named in errors."""
    kind = SubwordTokenizer if inputs.input_kind == "subwords" else Tokenizer
    return kind.from_bytes(content, inputs, source)
