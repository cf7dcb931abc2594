"""The reference of BM25."""

from reference.registry import reference


@reference("bm25", {})
def bm25(weights, settings, left, right, ngrams):
    idf, average = weights["score.idf"], float(weights["score.average_length"])
    saturation = settings["k1"] * (1 - settings["b"] + settings["b"] * len(right) / average)
    total = 0.0
    for word in left:
        tf = right.count(word)
        total += idf[min(word, len(idf) - 1)] * tf / (tf + saturation)
    return total
