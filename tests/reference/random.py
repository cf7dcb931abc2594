"""The reference of Random."""

from reference.registry import reference

PRIME = 2**31 - 1


@reference("random", {})
def random(weights, settings, left, right, ngrams):
    def hash_text(text):
        number = 0
        for word in text:
            number = (number * 69621 + word + 1) % PRIME
        return number

    mixed = (hash_text(left) * 48271 + hash_text(right) * 69621 + settings["seed"] * 16807) % PRIME
    for _ in range(3):
        mixed = mixed * 48271 % PRIME
    return mixed / PRIME
