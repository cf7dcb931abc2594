"""Terms of the left text: BM25's matched terms, and DRMM's term gates and histograms."""

import numpy as np

from pairlight.explain.data import Fact, FactTable, WordWeights
from pairlight.explain.mechanisms.findings import Findings, TracedPair, to_floats, top_facts
from pairlight.explain.trace import LayerCall
from pairlight.inference.scoring import to_numpy
from pairlight.layers.bm25 import BM25Score
from pairlight.layers.heads import WeightedSum
from pairlight.layers.histogram import Histogram
from pairlight.layers.idf import IdfSoftmax


def explain_bm25(pair: TracedPair, layer: BM25Score, call: LayerCall, findings: Findings) -> None:
    left, right = call.args
    contributions = layer.term_scores(left, right)[0].tolist()
    facts = []
    for i, word in enumerate(left.ids[0].tolist()):
        matches = np.flatnonzero(to_numpy(right.ids[0]) == word).tolist()
        if matches:
            values = {"idf": float(layer.idf[min(word, layer.vocab)]), "count": len(matches)}
            facts.append(Fact(pair.left.words[i].text, (i,), tuple(matches), contributions[i], values))
    description = "Words of the left text that occur in the right text. Their contributions sum to the score."
    findings.tables.append(FactTable("matched terms", description, top_facts(facts)))


def explain_histograms(pair: TracedPair, layer: Histogram, call: LayerCall, findings: Findings) -> None:
    """The score of each left word's histogram and the weight of the word, which follow in a weighted sum."""
    weighted = next((call for _, call in pair.trace.calls_of(WeightedSum)), None)
    if weighted is None:
        return
    gate, score = (arg[0] for arg in weighted.args)
    idf = next((layer.word_idf(pair.trace.left)[0] for layer, _ in pair.trace.calls_of(IdfSoftmax)), None)
    findings.weights.append(WordWeights("term gate", to_floats(gate)))
    facts = []
    for i, word in enumerate(pair.left.words):
        values = {"histogram": float(score[i]), "gate": float(gate[i])}
        facts.append(Fact(word.text, (i,), values=values if idf is None else values | {"idf": float(idf[i])}))
    description = (
        "The score of the histogram of similarities of each left word, and the weight (gate) of the word. "
        "The sum of histogram × gate is the score."
    )
    findings.tables.append(FactTable("left words", description, tuple(facts)))
