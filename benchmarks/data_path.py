"""Before a model sees it: words counted, texts tokenised, batches built, pairs held in memory."""

from collections.abc import Callable
from typing import Any

from benchmarks.clock import seconds
from benchmarks.subject import LONGEST, Idle
from benchmarks.workloads import made
from pairlight.data.pairs import Pairs
from pairlight.text.tokenizer import TokenizedTexts, Tokenizer
from pairlight.training.loop import fit
from pairlight.training.config import TrainingConfig

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
    encoded: list[TokenizedTexts] = []
    tokenised = seconds(lambda: encoded.append(tokenizer[0].encode(texts, LONGEST)))
    options = TrainingConfig.of({}, {"loss": "hinge", "negatives_per_positive": 1, "epochs": 1})
    fit(Idle(), encoded[0], made(_WORDS, _WORDS, 1), options)  # the first optimiser of a process takes a second
    built = seconds(lambda: fit(Idle(), encoded[0], table, options))
    numbers = [table.left, table.right, table.group, table.label, encoded[0].ids, encoded[0].start]
    held = sum(column.nbytes for column in numbers if column is not None)
    return {
        "pairs": pairs,
        "texts": len(texts),
        "words_a_text": _WORDS,
        "counted_texts_s": len(texts) / counted,
        "tokenised_texts_s": len(texts) / tokenised,
        "built_pairs_s": pairs / built,  # what the training loop can hand to a model
        "seconds": {
            "pairs": read,
            "counting": counted,
            "tokenising": tokenised,
            "drawing an epoch": built,
        },
        "bytes_a_pair": {"numbers": held / pairs, "texts": sum(len(t.encode()) for t in texts) / pairs},
    }
