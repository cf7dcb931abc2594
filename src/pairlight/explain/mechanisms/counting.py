"""Counts of similarities: aNMM's bins and K-NRM's kernels."""

import numpy as np

from pairlight.explain.data import Fact, FactTable
from pairlight.explain.mechanisms.findings import Findings, TracedPair, top_facts
from pairlight.explain.trace import LayerCall
from pairlight.inference.scoring import to_numpy
from pairlight.layers.basic import Linear, Sequential
from pairlight.layers.histogram import BinWeights, bin_index
from pairlight.layers.kernel_pooling import KernelPooling


def explain_bins(pair: TracedPair, layer: BinWeights, call: LayerCall, findings: Findings) -> None:
    s, b = call.args
    x, w = to_numpy(s.x[0, 0]), to_numpy(layer.w)
    count = len(w)
    bins = to_numpy(bin_index(s.x[0, 0], count))
    products = w[bins] * x * to_numpy(b[0])
    contributions = np.bincount(bins.flatten(), products.flatten(), count).tolist()
    facts = []
    for k in np.unique(bins).tolist():
        left, right = (bins == k).nonzero()
        lower, upper = 2 * k / (count - 1) - 1, 2 * (k + 1) / (count - 1) - 1
        label = "1: the same word" if k == count - 1 else f"{lower:+.2f} to {upper:+.2f}"
        words = tuple(sorted(set(left.tolist()))), tuple(sorted(set(right.tolist())))
        facts.append(Fact(label, *words, contributions[k], {"weight": float(w[k]), "cells": float(len(left))}))
    description = "Similarities grouped by value. Contributions are those before the sigmoid of each left word."
    findings.tables.append(FactTable("bins", description, top_facts(facts)))


def explain_kernels(pair: TracedPair, layer: KernelPooling, call: LayerCall, findings: Findings) -> None:
    score = getattr(pair.trace.model.without_evidence, "score", None)
    linear = score[0] if isinstance(score, Sequential) else score
    phi = call.output[0]  # [C·K]
    channels = len(phi) // len(layer.mu)
    if not isinstance(linear, Linear) or linear.weight.shape != (1, len(phi)):
        return
    labels = [f"μ = {mu:+.2f}" for mu in layer.mu]
    if channels > 1:
        labels = [f"channel {c + 1}, {label}" for c in range(channels) for label in labels]
    facts = [
        Fact(label, (), (), float(w * p), {"φ": float(p), "weight": float(w)})
        for label, p, w in zip(labels, phi, linear.weight[0], strict=True)
    ]
    description = "Kernels count similarities near μ. A contribution is φ × weight, before the tanh of the score."
    findings.tables.append(FactTable("kernels", description, top_facts(facts)))
