"""Ranks the same texts with late-interaction on subwords, with WordLlama and with cross-encoders."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import cross_encoders
from benchmarks.clock import interleaved, seconds
from pairlight.data.pairs import Pairs
from pairlight.inference.scorer import ModelScorer
from pairlight.text.subwords import SUBWORDS, subword_vectors
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.training.untrained import untrained_model

LEFT, RIGHT, TEXTS = 30, 40, 1000  # subwords of the query and of a text, and the number of texts
_FIRST, _LAST = 300, 20_000  # ordinary subwords, the more frequent first

Rows = list[dict[str, Any]]


def subword_ranking(rounds: int, say: Callable[[str], None]) -> Rows:
    """Pairs per second: of texts that are tokenized already, and from raw text."""
    if reason := cross_encoders.missing():
        return [{"skipped": reason}]
    say(f"Ranking {TEXTS} texts by subwords, WordLlama and cross-encoders")
    texts = _texts()
    pairs = Pairs.of([texts[0]] * TEXTS, texts[1:])
    scorer = untrained_model("late-interaction", {}).scorer()
    tokenized = SUBWORDS.tokenize(pairs.texts, 64)
    raw, ready = partial(scorer.score_pairs, pairs), partial(_score, scorer, tokenized, pairs)
    ready()  # the first call projects the vectors
    sides = {"late-interaction, tokenized texts": ready, "late-interaction, raw text": raw}
    word_llama = _word_llama()
    sides["WordLlama's rank, raw text"] = partial(word_llama.rank, texts[0], texts[1:], sort=False)
    batches = cross_encoders.batches(tokenized, pairs)
    for shape in cross_encoders.SHAPES:
        model = cross_encoders.cross_encoder(shape)
        sides[f"{shape}, transformers, tokenized texts"] = partial(cross_encoders.score, model, batches)
        small = cross_encoders.int8(model, batches[0])
        sides[f"{shape}, onnxruntime int8, tokenized texts"] = partial(small, batches)
    speeds = interleaved({name: _speed(run) for name, run in sides.items()}, rounds)
    lengths = tokenized.lengths
    about = f"1 x {TEXTS} texts, {lengths[0]} and {lengths[1:].mean():.0f} subwords"
    return [{"workload": about, "side": name, "score": speed, "train": None} for name, speed in speeds.items()]


def _texts() -> list[str]:
    """A query and texts whose subwords follow Zipf's law, made of real subwords, so of about these lengths."""
    rng, vocabulary = np.random.default_rng(0), SUBWORDS.vocabulary
    words = [word[1:] for word in vocabulary[_FIRST:_LAST] if word.startswith("▁") and word[1:].isalpha()]
    share = 1 / np.arange(1, len(words) + 1)
    share /= share.sum()
    return [" ".join(rng.choice(words, n, p=share)) for n in [LEFT] + [RIGHT] * TEXTS]


def _score(scorer: ModelScorer, texts: TokenizedTexts, pairs: Pairs) -> object:
    return scorer.score_tokenized(texts, pairs.left, pairs.right)


def _word_llama() -> Any:
    """WordLlama with the files of its package; its own `load` needs the network."""
    import importlib.util
    from pathlib import Path

    from tokenizers import Tokenizer
    from wordllama.inference import WordLlamaInference

    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("wordllama")
    folder = Path(spec.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    return WordLlamaInference(np.asarray(subword_vectors(), np.float32), tokenizer)


def _speed(run: Callable[[], object]) -> Callable[[], float]:
    return lambda: TEXTS / seconds(run)
