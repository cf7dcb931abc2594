"""The one error a user meets: it names the value, the rule and the remedy."""


class InputError(ValueError):
    """Something the user gave cannot be used; the message says what, why and what to do."""
