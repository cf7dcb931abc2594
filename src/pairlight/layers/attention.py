"""Attention weights as a separate array, for models that compare only the directions of word vectors."""

from pairlight.layers.backends import array_namespace
from pairlight.layers.embedding import AttentionGate, WordEmbedding
from pairlight.layers.layer import Layer
from pairlight.layers.types import Array, Seq, Tokens, tile_left_vectors


def attention_weights(gate: Layer, u: Seq) -> Array:
    """a_t of a gate, n a_t if it rescales, 1 without a gate; 0 under padding.   Seq -> [B, L]"""
    return gate.factors(u) if isinstance(gate, AttentionGate) else array_namespace(u.x).cast(u.mask, u.x)


def embed_with_attention(embed: WordEmbedding, left: Tokens, right: Tokens) -> tuple[Seq, Seq, Array, Array]:
    """The ungated word vectors of both texts and the attention weights of their words, tiled to match.

    The cosine ignores the length of a vector, so scaling word vectors would have no effect. The weights are applied
    where similarities are counted instead.
    """
    u, v = embed.embedding(left), embed.embedding(right)
    weights = attention_weights(embed.left_gate, u), attention_weights(embed.right_gate, v)
    return u, v, *tile_left_vectors(*weights)
