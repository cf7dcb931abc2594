"""DeepMatch: local decisions on the words of each topic, combined by topics of coarser granularity."""

import numpy as np

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.topics import PairTopics, link_topics, topic_overlap
from pairlight.layers.backends import array_namespace
from pairlight.layers.basic import Linear
from pairlight.layers.settings import Seed, Size
from pairlight.layers.topics import LinkedTopics, TopicPatches
from pairlight.layers.types import Array, Tokens
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import TokenizedTexts


class DeepMatch(PairModel):
    """Make one local decision per topic on its words, and combine the decisions along a hierarchy of topics.

    x_p, y_p = which words of topic p's patch occur in the left and in the right text, as ones and zeros
    h_p      = sigmoid(x_p·A^k y_p + b^k), k = 1 .. units, for the finest topics
    h_q      = sigmoid(sum over the topics p linked to q of W_qp h_p + b), for each coarser layer of topics
    c        = sigmoid(W h + b) of the coarsest layer: the committee
    s        = w · c + a

    The topics are found by LDA on the positive training pairs, once for each number of topics; left and right texts
    have separate vocabularies. A patch has the most probable words of a topic for each of the two texts; the patches of
    coarse topics are proportionally larger. A coarse topic is linked to the fine topics whose patches it covers most,
    and every fine topic is linked to at least one coarse topic.

    The bilinear patches and the links between topics of several resolutions are the paper's. The measure of overlap and
    all sizes are ours, and the logistic function of the score is left to the loss.

    Unlike the paper: LDA by variational inference (gensim), not by Gibbs sampling. Stop words are kept: without them
    the model learned little on WikiQA dev.

    Settings:
      topics     number of topics in each layer, finest first
      patch      words of a finest topic for each of the two texts
      units      units of a topic
      links      minimum number of fine topics linked to a coarse topic
      committee  units of the layer before the score
      passes     passes of LDA over the pairs
      seed       seed of LDA
    """

    paper = "Lu and Li, NIPS 2013"
    family = "interaction"
    statistics_are_weights = True
    paper_training = {"optimizer": "adam", "lr": 0.003}

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
        self.vocab, self.min_links, self.passes, self.seed = vocab, links, passes, seed
        self.counts = _parse_counts(topics)
        self.patches = TopicPatches(vocab, self.counts[0], patch, units)
        self.linked = [
            LinkedTopics(fine, coarse, units) for fine, coarse in zip(self.counts, self.counts[1:], strict=False)
        ]
        self.committee = Linear(self.counts[-1] * units, committee)
        self.score = Linear(committee, 1)

    def fit_statistics(self, texts: TokenizedTexts, pairs: Pairs) -> None:
        lda = PairTopics(texts, pairs, vocab=self.vocab, passes=self.passes, seed=self.seed)
        topics = [lda.top_words(count, self.patches.patch * self.counts[0] // count) for count in self.counts]
        for side, words in (("left", topics[0].left), ("right", topics[0].right)):
            distinct = np.unique(words[words > 0])
            index = np.zeros(self.vocab + 1, np.int64)
            index[distinct] = np.arange(1, len(distinct) + 1)
            _copy_into(getattr(self.patches, f"{side}_index"), index)
            _copy_into(getattr(self.patches, f"{side}_patches"), index[words])
        for layer, fine, coarse in zip(self.linked, topics, topics[1:], strict=False):
            _copy_into(layer.links, link_topics(topic_overlap(fine, coarse), self.min_links))

    def forward(self, left: Tokens, right: Tokens) -> Array:
        h = self.patches(left, right)  # [B, T·K]
        for layer in self.linked:
            h = layer(h)
        return self.score(array_namespace(h).sigmoid(self.committee(h)))[:, 0]


def _copy_into(target: Array, values: np.ndarray) -> None:
    array_namespace(target).copy_into(target, values)


def _parse_counts(topics: str) -> list[int]:
    counts = [int(count) if count.strip().isdecimal() else 0 for count in topics.split(",")]
    if min(counts) < 1 or sorted(set(counts), reverse=True) != counts:
        raise InputError(f"topics={topics!r} is not a list of decreasing whole numbers: use for example 20,10,5.")
    return counts
