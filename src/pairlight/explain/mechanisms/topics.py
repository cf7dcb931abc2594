"""DeepMatch's topics: what the decision of each topic contributes."""

import numpy as np

from pairlight.explain.data import Fact, FactTable
from pairlight.explain.mechanisms.findings import Findings, TracedPair, top_facts
from pairlight.explain.trace import LayerCall, edited_scores
from pairlight.inference.scoring import to_numpy
from pairlight.layers.backends import array_namespace
from pairlight.layers.topics import TopicPatches
from pairlight.layers.types import Array, Tokens


def explain_topics(pair: TracedPair, layer: TopicPatches, call: LayerCall, findings: Findings) -> None:
    """The contribution of a topic: the score minus the score as if none of the topic's words occurred."""
    T, trace = layer.topics, pair.trace
    xp = array_namespace(layer.bias)
    absent = xp.sigmoid(layer.bias).reshape(T, layer.units)

    def without_one_each(h: Array) -> Array:
        h = h.reshape(T, T, layer.units)  # copy t, topic, unit
        h[np.arange(T), np.arange(T)] = absent
        return h.reshape(T, -1)

    scores = edited_scores(trace, layer, without_one_each, T)
    decisions = to_numpy(call.output[0]).reshape(T, layer.units).mean(1)
    facts = []
    for topic, score in enumerate(scores):
        left = _words_in_patch(trace.left, layer.left_index, layer.left_patches[topic])
        right = _words_in_patch(trace.right, layer.right_index, layer.right_patches[topic])
        if left and right:
            values = {"decision": float(decisions[topic])}
            facts.append(Fact(f"topic {topic + 1}", left, right, trace.score - score, values))
    description = "Topics with words in both texts. A contribution is the score minus the score without these words."
    findings.tables.append(FactTable("topics", description, top_facts(facts, keep_sum=False)))


def _words_in_patch(tokens: Tokens, index: Array, patch: Array) -> tuple[int, ...]:
    words = to_numpy(index)[np.minimum(to_numpy(tokens.ids[0]), len(index) - 1)]
    return tuple(np.flatnonzero(np.isin(words, to_numpy(patch)) & (words > 0)).tolist())
