"""DeepMatch's topics: what the decision of each topic contributes."""

import torch
from torch import Tensor

from pairlight.explain.data import Fact, FactTable
from pairlight.explain.mechanisms.findings import Findings, TracedPair, top_facts
from pairlight.explain.trace import LayerCall, edited_scores
from pairlight.layers.topics import TopicPatches
from pairlight.layers.types import Tokens


def explain_topics(pair: TracedPair, layer: TopicPatches, call: LayerCall, findings: Findings) -> None:
    """The contribution of a topic: the score minus the score as if none of the topic's words occurred."""
    T, trace = layer.topics, pair.trace
    absent = layer.bias.sigmoid().view(T, layer.units)

    def without_one_each(h: Tensor) -> Tensor:
        h = h.view(T, T, layer.units)  # copy t, topic, unit
        h[torch.arange(T), torch.arange(T)] = absent
        return h.flatten(1)

    scores = edited_scores(trace, layer, without_one_each, T).tolist()
    decisions = call.output[0].view(T, layer.units).mean(1)
    facts = []
    for topic, score in enumerate(scores):
        left = _words_in_patch(trace.left, layer.left_index, layer.left_patches[topic])
        right = _words_in_patch(trace.right, layer.right_index, layer.right_patches[topic])
        if left and right:
            values = {"decision": float(decisions[topic])}
            facts.append(Fact(f"topic {topic + 1}", left, right, trace.score - score, values))
    description = "Topics with words in both texts. A contribution is the score minus the score without these words."
    findings.tables.append(FactTable("topics", description, top_facts(facts, keep_sum=False)))


def _words_in_patch(tokens: Tokens, index: Tensor, patch: Tensor) -> tuple[int, ...]:
    words = index[tokens.ids[0].clamp(max=len(index) - 1)]
    return tuple(((words[:, None] == patch).any(1) & (words > 0)).nonzero()[:, 0].tolist())
