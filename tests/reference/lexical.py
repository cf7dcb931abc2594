"""Slow twins of the models that only count words."""

PRIME = 2**31 - 1


def random(weights, settings, left, right, letters):
    def digest(text):
        number = 0
        for word in text:
            number = (number * 69621 + word + 1) % PRIME
        return number

    mixed = (digest(left) * 48271 + digest(right) * 69621 + settings["seed"] * 16807) % PRIME
    for _ in range(3):
        mixed = mixed * 48271 % PRIME
    return mixed / PRIME


def bm25(weights, settings, left, right, letters):
    idf, average = weights["idf"], float(weights["average"])
    slack = settings["k1"] * (1 - settings["b"] + settings["b"] * len(right) / average)
    total = 0.0
    for word in left:
        tf = right.count(word)
        total += idf[min(word, len(idf) - 1)] * tf / (tf + slack)
    return total
