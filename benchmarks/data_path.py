"""Measures the steps before a model: building the vocabulary, tokenization, batches, and memory per pair."""

from collections.abc import Callable
from typing import Any

from benchmarks.benchmark_model import MAX_LENGTH, EmptyModel
from benchmarks.clock import seconds
from benchmarks.workloads import fixed_length_pairs
from pairlight.core.memory import disable_malloc_trim
from pairlight.data.pairs import Pairs
from pairlight.text.inputs import WORDS
from pairlight.text.tokenizer import TokenizedTexts, Tokenizer
from pairlight.training.config import TrainingConfig
from pairlight.training.loop import fit

_WORDS = 15  # per text


def data_path(pairs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Texts per second and bytes per pair, for this many pairs in lists of one positive and one negative."""
    say(f"Vocabulary, tokens and batches, {pairs:,} pairs")
    table = fixed_length_pairs(_WORDS, _WORDS, pairs // 2)
    texts = table.texts
    columns = [texts[i] for i in table.left], [texts[i] for i in table.right], table.label
    read = seconds(lambda: Pairs.of(*columns))
    tokenizer: list[Tokenizer] = []
    counted = seconds(lambda: tokenizer.append(Tokenizer.fit(texts, WORDS)))
    tokens: list[TokenizedTexts] = []
    tokenized = seconds(lambda: tokens.append(tokenizer[0].tokenize(texts, MAX_LENGTH)))
    config = TrainingConfig.of({}, {"loss": "hinge", "negatives_per_positive": 1, "epochs": 1})
    disable_malloc_trim()  # as the trainer does
    fit(EmptyModel(), tokens[0], fixed_length_pairs(_WORDS, _WORDS, 1), config)  # the first optimizer takes a second
    built = seconds(lambda: fit(EmptyModel(), tokens[0], table, config))
    numbers = [table.left, table.right, table.group, table.label, tokens[0].ids, tokens[0].start]
    held = sum(column.nbytes for column in numbers if column is not None)
    return {
        "pairs": pairs,
        "texts": len(texts),
        "words_per_text": _WORDS,
        "vocabulary_texts_per_s": len(texts) / counted,
        "tokenized_texts_per_s": len(texts) / tokenized,
        "batched_pairs_per_s": pairs / built,  # what the training loop can pass to a model
        "seconds": {
            "pairs": read,
            "vocabulary": counted,
            "tokenization": tokenized,
            "batches of an epoch": built,
        },
        "bytes_per_pair": {"arrays": held / pairs, "texts": sum(len(t.encode()) for t in texts) / pairs},
    }
