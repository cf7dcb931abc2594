"""Evidence: what static vectors and shared words say, next to what the model adds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.explain.data import Fact, FactTable
from pairlight.explain.mechanisms.findings import Findings, TracedPair
from pairlight.explain.trace import LayerCall, Trace
from pairlight.inference.scoring import to_numpy
from pairlight.kernels.native.pair_features import K1, B
from pairlight.layers.evidence import FEATURES, Evidence, PairFeatures

Floats = NDArray[Any]


def explain_features(pair: TracedPair, layer: PairFeatures, call: LayerCall, findings: Findings) -> None:
    """The features of the pair with their part of the score; the rest of it is the model's."""
    linear = pair.trace.model.linear_layer()
    if linear is None:
        return
    f, weight = to_numpy(call.output[0]), to_numpy(linear.weight[0])
    values, parts = f.tolist(), (f * weight).tolist()
    facts = [
        Fact(name, contribution=part, values={"value": value, "weight": part_weight})
        for name, part, value, part_weight in zip(FEATURES, parts, values, weight.tolist(), strict=False)
    ]
    if layer.k:
        units = "words" if pair.trace.model.inputs.input_kind == "words" else "subwords"
        facts.append(Fact(f"{layer.k} most similar pairs of {units}", contribution=sum(parts[len(FEATURES) :])))
    if linear.bias is not None:
        facts.append(Fact("constant", contribution=float(linear.bias[0])))
    total = sum(fact.contribution or 0 for fact in facts)
    facts.sort(key=lambda fact: -abs(fact.contribution or 0))
    facts.insert(0, Fact("the model itself", contribution=pair.trace.score - total))
    description = (
        "What static vectors and shared words say, and what the model adds. Contributions sum to the score; those of "
        "the features are value × weight."
    )
    findings.tables.insert(0, FactTable("evidence", description, tuple(facts)))


def evidence_of_subwords(trace: Trace) -> tuple[Floats, Floats] | None:
    """What each subword of both texts contributes to the evidence; None for a model without evidence.   -> [L], [R]

    All features but the lengths are sums over subwords. The cosine of two sums is divided equally between the texts.
    """
    found = next(trace.calls_of(Evidence), None)
    if found is None:
        return None
    evidence, call = found
    u, v = (evidence.embed(tokens) for tokens in call.args)
    r, q = (to_numpy(evidence.weights(tokens)[0]) for tokens in call.args)
    rows, columns, _ = (to_numpy(each[0]) for each in evidence.features.maxima(u, v))
    x, y = to_numpy(u.x[0]), to_numpy(v.x[0])
    same = to_numpy(u.ids[0])[:, None] == to_numpy(v.ids[0])
    tf = same.sum(1)
    saturation = K1 * (1 - B + B * len(y) / float(evidence.features.average_length))
    w = evidence.linear.weight[0].tolist()
    left, right = _cosine_parts(x, y, w[0])
    by_idf = _cosine_parts(x * r[:, None], y * q[:, None], w[1])
    left, right = left + by_idf[0], right + by_idf[1]
    left += r * (w[2] * rows + w[4] * np.minimum(tf, 1) + w[6] * tf / (tf + saturation)) / r.sum()
    right += q * (w[3] * columns + w[5] * same.any(0)) / q.sum()
    return left, right


def _cosine_parts(x: Floats, y: Floats, weight: float) -> tuple[Floats, Floats]:
    """The parts of the rows of x and y in weight × cosine of their sums, half of it each."""
    a, b = x.sum(0), y.sum(0)
    scale = weight / 2 / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-8)
    return x @ b * scale, y @ a * scale
