"""The training data of an epoch: all at once where they are in memory, else block by block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pairlight.core.errors import InputError
from pairlight.data.pair_blocks import PairBlocks
from pairlight.data.pairs import Pairs
from pairlight.text.tokenizer import TokenizedTexts
from pairlight.training.config import TrainingConfig
from pairlight.training.examples import LabeledExamples, RankingExamples, training_examples

Prepare = Callable[[Pairs], tuple[TokenizedTexts, Pairs]]  # tokenizes, mines negatives and scales labels


@dataclass(frozen=True)
class Part:
    """Examples in memory, with the random numbers that they are drawn with."""

    texts: TokenizedTexts
    examples: RankingExamples | LabeledExamples
    rng: np.random.Generator
    seed: int  # of PyTorch


class TrainingData(Protocol):
    """Blocks of examples. Each has a random stream of its own in every epoch, so training resumes at any of them."""

    def order(self, epoch: int) -> list[int]:
        """The numbers of the blocks, in the order of this epoch."""
        ...

    def parts(self, epoch: int, block: int) -> Iterator[Part]:
        """The examples of a block."""
        ...


@dataclass(frozen=True)
class MemoryData:
    """A single block, in memory."""

    texts: TokenizedTexts
    examples: RankingExamples | LabeledExamples
    config: TrainingConfig

    def order(self, epoch: int) -> list[int]:
        return [0]

    def parts(self, epoch: int, block: int) -> Iterator[Part]:
        rng = np.random.default_rng([self.config.seed, epoch])
        yield Part(self.texts, self.examples, rng, self.config.seed * 1_000_003 + epoch)


@dataclass(frozen=True)
class StreamedData:
    """Blocks that are read, tokenized and forgotten, in another order every epoch."""

    source: PairBlocks
    prepare: Prepare
    config: TrainingConfig

    def order(self, epoch: int) -> list[int]:
        rng = np.random.default_rng([self.config.seed, epoch])
        return [int(i) for i in rng.permutation(len(self.source.blocks))]

    def parts(self, epoch: int, block: int) -> Iterator[Part]:
        for number, pairs in enumerate(self.source.read(self.source.blocks[block])):
            try:
                texts, prepared = self.prepare(pairs)
                examples = training_examples(prepared, self.config)
            except InputError:  # no list of these few has both a positive and a negative
                continue
            seeds = np.random.SeedSequence([self.config.seed, epoch, block, number])
            yield Part(texts, examples, np.random.default_rng(seeds), int(seeds.generate_state(1)[0]))
