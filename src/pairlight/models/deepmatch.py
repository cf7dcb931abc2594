"""DeepMatch: words that go together by topic are matched locally, and the topics combined upwards."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.topics import PairTopics, linked, overlap
from pairlight.layers.basic import Linear
from pairlight.layers.layer import Layer, buffer, parameter
from pairlight.layers.settings import Seed, Size
from pairlight.layers.types import Tokens, tile_left_vectors
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts


class DeepMatch(PairModel):
    """Many local decisions, each on the words of one topic, joined where topics of coarser grain overlap them.

    x_p, y_p = which words of topic p's patch stand in the left text, in the right text: ones and zeros
    h_p      = sigmoid(x_p·A^k y_p + b^k), k = 1 .. units, for the finest topics
    h_q      = sigmoid(sum over the topics p that q is linked to of W_qp h_p + b), for each coarser layer of topics
    c        = sigmoid(W h + b) of the coarsest layer: the committee
    s        = w · c + a

    Topics come from LDA on the training pairs that match, the words of the two sides kept apart, once for each number
    of topics. A patch is a topic's likeliest words on either side; a coarse topic's patch is larger in proportion. A
    coarse topic is linked to the fine ones whose patches lie most within its own, and every fine one to at least one.

    What is certain of the paper is the bilinear patch and the links by topics of several resolutions. The measure of
    overlap and all sizes are ours, and the logistic of the score is left to the loss.

    Unlike the paper: LDA by variational inference (gensim), not by Gibbs sampling. Stop words stay: on WikiQA dev the
    model learnt little without them.

    Settings:
      topics     how many topics each layer has, finest first
      patch      words of a finest topic on either side
      units      units of a topic
      links      fine topics that a coarse one is linked to at least
      committee  size of the layer before the score
      passes     how often LDA reads the pairs
      seed       of LDA
    """

    paper = "Lu and Li, NIPS 2013"
    family = "interaction"
    statistics_are_weights = True
    training_defaults = {"optimizer": "adam", "lr": 0.003}

    left_number: Tensor
    right_number: Tensor
    left_patch: Tensor
    right_patch: Tensor

    def __init__(
        self,
        vocab: int,
        *,
        topics: str = "20,10,5",
        patch: Size = 200,
        units: Size = 4,
        links: Size = 4,
        committee: Size = 20,
        passes: Size = 3,
        seed: Seed = 1,
    ) -> None:
        self.vocab, self.counts, self.patch, self.units = vocab, _counts(topics), patch, units
        self.links, self.passes, self.seed = links, passes, seed
        finest, coarsest = self.counts[0], self.counts[-1]
        # The number of each word among those in any patch, 0 for the others; and the numbers of each patch's words.
        self.left_number, self.right_number = (buffer(vocab + 1, dtype="int64") for _ in range(2))
        self.left_patch, self.right_patch = (buffer(finest, patch, dtype="int64") for _ in range(2))
        self.weight = parameter(finest, patch, units * patch)
        self.bias = parameter(finest * units, bound=0)
        self.layers = list(
            Linked(fine, coarse, units) for fine, coarse in zip(self.counts, self.counts[1:], strict=False)
        )
        self.committee = Linear(coarsest * units, committee)
        self.score = Linear(committee, 1)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        found = PairTopics(texts, pairs, vocab=self.vocab, passes=self.passes, seed=self.seed)
        patches = [found.patches(count, self.patch * self.counts[0] // count) for count in self.counts]
        for side, words in (("left", patches[0].left), ("right", patches[0].right)):
            distinct = np.unique(words[words > 0])
            number = np.zeros(self.vocab + 1, np.int64)
            number[distinct] = np.arange(1, len(distinct) + 1)
            getattr(self, f"{side}_number").copy_(torch.from_numpy(number))
            getattr(self, f"{side}_patch").copy_(torch.from_numpy(number[words]))
        for layer, fine, coarse in zip(self.layers, patches, patches[1:], strict=False):
            links = torch.from_numpy(linked(overlap(fine, coarse), self.links))
            layer.links = links.to(self.bias.device)

    def forward(self, left: Tokens, right: Tokens) -> Tensor:
        x = self.present(left, self.left_number, self.left_patch)  # [B, T, P]
        y = self.present(right, self.right_number, self.right_patch)
        met = torch.einsum("btp,tpq->btq", x, self.weight)  # [B, T, K·P]
        met, y = tile_left_vectors(met.flatten(1), y)
        met = met.view(len(y), -1, self.units, self.patch)  # [B, T, K, P]
        h = torch.sigmoid(torch.einsum("btkp,btp->btk", met, y).flatten(1) + self.bias)  # [B, T·K]
        for layer in self.layers:
            h = layer(h)
        return self.score(torch.sigmoid(self.committee(h)))[:, 0]

    def present(self, tokens: Tokens, number: Tensor, patch: Tensor) -> Tensor:
        """1 where a word of a patch stands in the text: [B, T, P]."""
        words = number[tokens.ids.clamp(max=self.vocab)].masked_fill(~tokens.mask, 0)  # [B, L]
        there = self.bias.new_zeros(len(words), patch.numel() + 1).scatter_(1, words, 1)
        there[:, 0] = 0
        return there[:, patch]


class Linked(Layer):
    """h_q = sigmoid(sum over the p that q is linked to of W_qp h_p + b), every topic with so many units."""

    links: Tensor

    def __init__(self, fine: int, coarse: int, units: int) -> None:
        self.units = units
        self.weight = parameter(coarse * units, fine * units)
        self.bias = parameter(coarse * units, bound=0)
        self.links = buffer(coarse, fine, fill=1, dtype="bool")

    def forward(self, h: Tensor) -> Tensor:
        there = self.links.repeat_interleave(self.units, 0).repeat_interleave(self.units, 1)
        return torch.sigmoid(F.linear(h, self.weight.masked_fill(~there, 0), self.bias))


def _counts(topics: str) -> list[int]:
    counts = [int(part) if part.strip().isdecimal() else 0 for part in topics.split(",")]
    if min(counts) < 1 or sorted(set(counts), reverse=True) != counts:
        raise InputError(f"topics={topics!r} are no falling whole numbers: give such as 20,10,5.")
    return counts
