"""Each word's share of its text's attention, kept beside the words for models that only see where vectors point."""

from torch import Tensor, nn

from pairlight.parts import Seq, Tokens, facing_vectors
from pairlight.parts.embed import Gate, Words


def shares(gate: nn.Module, u: Seq) -> Tensor:
    """a_t of a gate, n a_t where it rescales, 1 where there is no gate; 0 behind a text's end.   Seq -> [B, L]"""
    if not isinstance(gate, Gate):
        return u.mask.to(u.x.dtype)
    a = gate.weights(u)
    return a * u.lengths[:, None] if gate.rescale else a


def weighed(words: Words, left: Tokens, right: Tokens) -> tuple[Seq, Seq, Tensor, Tensor]:
    """The words of both texts at their own length, and the shares a and b of those words, lined up to face each other.

    Cosine does not see how long a vector is: words scaled by their gate would meet as if there were none. So the share
    is left out of the vector and goes where the word is counted.
    """
    u, v = words.embed(left), words.embed(right)
    return u, v, *facing_vectors(shares(words.left, u), shares(words.right, v))
