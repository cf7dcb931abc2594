"""What each word of either text adds to the score: by leaving it out, and by growing its vector from zero."""

from collections.abc import Set

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pairlight.explain.data import Contributions, Zeroed
from pairlight.explain.trace import Integrated, Run, integrated, readers_of_words
from pairlight.models.base import PairModel
from pairlight.inference.scoring import score_pairs
from pairlight.layers.types import Tokens
from pairlight.text.tokenizer import TokenizedTexts


def left_out(model: PairModel, encoded: TokenizedTexts) -> Contributions:
    """The score of texts 0 and 1 minus that without each of their words; text 2 is the empty one, as a model reads it.

    All pairs are scored in one go. A text of a single word becomes the empty one without it.
    """
    left, right, empty = (encoded.ids[encoded.start[t] : encoded.start[t + 1]] for t in range(3))
    texts = [left, right]
    for text in (left, right):
        texts += [np.delete(text, place) if len(text) > 1 else empty for place in range(len(text))]
    start = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    shorter = TokenizedTexts(np.concatenate(texts), start, 0, encoded.spelling, _joins_left(encoded))
    L, R = len(left), len(right)
    lefts = np.r_[0, 2 : 2 + L, np.zeros(R, int)]
    rights = np.r_[1, np.ones(L, int), 2 + L : 2 + L + R]
    scores = score_pairs(model, shorter, lefts, rights).astype(float)
    adds = scores[0] - scores[1:]
    return Contributions("leave-one-out", tuple(adds[:L].tolist()), tuple(adds[L:].tolist()))


def _joins_left(encoded: TokenizedTexts) -> NDArray[np.int32] | None:
    """The parses of the texts of `left_out`: what was joined with the missing word goes up in its place."""
    if encoded.joins is None:
        return None
    both = [encoded.joins[encoded.start[t] : encoded.start[t + 1]] for t in range(2)]
    shorter = [joins_without(joins, {place}) for joins in both for place in range(len(joins))]
    return np.concatenate([*both, *shorter])


def joins_without(joins: NDArray[np.int32], gone: Set[int]) -> NDArray[np.int32]:
    """The join places of a text without some of its words; -1 where there is no join more."""
    found: list[int] = []
    there = [place not in gone for place in range(len(joins))]
    words = max(sum(there), 1)
    for at in joins[:-1].tolist() if joins[0] >= 0 else []:
        if there[at] and there[at + 1]:
            found.append(sum(there[:at]))
        there[at : at + 2] = [there[at] or there[at + 1]]
    return np.array(found + [-1] * (words - len(found)), np.int32)


def grown(seen: Run) -> Integrated | None:
    """Integrated gradients of the word vectors, where there are any that the score follows."""
    modules = readers_of_words(seen)
    return integrated(seen, modules) if modules else None


def by_vectors(seen: Run, found: Integrated) -> Contributions:
    """What each word's vector adds on its way from zero."""
    left, right = torch.zeros(seen.left.ids.shape[1]), torch.zeros(seen.right.ids.shape[1])
    for part in found.parts:
        tokens = [each for each in part.call.args if isinstance(each, Tokens)][part.index]
        side = left if tokens is found.left else right
        side += part.adds.sum(-1).cpu().float()
    return _of(left, right, found, "word vectors")


def by_cells(found: Integrated) -> Contributions:
    """What the cells of each word add on the grid's way from zero, half to either side."""
    adds = sum(part.adds.sum(0) for part in found.parts).cpu().float() / 2  # type: ignore[union-attr]
    return _of(adds.sum(1), adds.sum(0), found, "interaction grid")


def _of(left: Tensor, right: Tensor, found: Integrated, zeroed: Zeroed) -> Contributions:
    adds = tuple(left.tolist()), tuple(right.tolist())
    return Contributions("integrated-gradients", *adds, found.baseline, found.residual, zeroed)
