"""Before a model sees it: words counted, texts tokenised, pairs held in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.clock import seconds
from benchmarks.subject import LONGEST
from benchmarks.workloads import made
from pairlight.data.batches import shuffled
from pairlight.data.pairs import Pairs
from pairlight.text.tokenizer import Encoded, Tokenizer
from pairlight.training.examples import Lists

_WORDS = 15  # of a text


def data_path(pairs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Texts a second and bytes a pair, for this many pairs whose lists have one right and one wrong text."""
    say(f"Texts to numbers, {pairs:,} pairs")
    table = made(_WORDS, _WORDS, pairs // 2)
    texts = table.texts
    columns = [texts[i] for i in table.left], [texts[i] for i in table.right], table.label
    read = seconds(lambda: Pairs.of(*columns))
    tokenizer: list[Tokenizer] = []
    counted = seconds(lambda: tokenizer.append(Tokenizer.fit(texts)))
    encoded: list[Encoded] = []
    tokenised = seconds(lambda: encoded.append(tokenizer[0].encode(texts, LONGEST)))
    drawn = seconds(lambda: _drawn(table, encoded[0]))
    numbers = [table.left, table.right, table.group, table.label, encoded[0].ids, encoded[0].start]
    held = sum(column.nbytes for column in numbers if column is not None)
    return {
        "pairs": pairs,
        "texts": len(texts),
        "words_a_text": _WORDS,
        "counted_texts_s": len(texts) / counted,
        "tokenised_texts_s": len(texts) / tokenised,
        "seconds": {"pairs": read, "counting": counted, "tokenising": tokenised, "drawing an epoch": drawn},
        "bytes_a_pair": {"numbers": held / pairs, "texts": sum(len(t.encode()) for t in texts) / pairs},
    }


def _drawn(table: Pairs, encoded: Encoded) -> None:
    """All that an epoch needs before its first step."""
    rng = np.random.default_rng(0)
    epoch = Lists(table, 1).epoch(rng)
    shuffled(encoded.lengths[epoch.left] * encoded.lengths[epoch.right].max(1), 128, rng)
