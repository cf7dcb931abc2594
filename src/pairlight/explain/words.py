"""What each word of either text adds to the score: by leaving it out, and by growing its vector from zero."""

import numpy as np
import torch

from pairlight.explain.explanation import Contributions
from pairlight.explain.stages import Integrated, Run, integrated, readers_of_words
from pairlight.models.base import PairModel
from pairlight.models.scoring import score_pairs
from pairlight.parts import Tokens
from pairlight.text.tokenizer import Encoded


def left_out(model: PairModel, encoded: Encoded) -> Contributions:
    """The score of texts 0 and 1 minus that without each of their words; text 2 is the empty one, as a model reads it.

    All pairs are scored in one go. A text of a single word becomes the empty one without it.
    """
    left, right, empty = (encoded.ids[encoded.start[t] : encoded.start[t + 1]] for t in range(3))
    texts = [left, right]
    for text in (left, right):
        texts += [np.delete(text, place) if len(text) > 1 else empty for place in range(len(text))]
    start = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    shorter = Encoded(np.concatenate(texts), start, 0, encoded.spelling)
    L, R = len(left), len(right)
    lefts = np.r_[0, 2 : 2 + L, np.zeros(R, int)]
    rights = np.r_[1, np.ones(L, int), 2 + L : 2 + L + R]
    scores = score_pairs(model, shorter, lefts, rights).astype(float)
    adds = scores[0] - scores[1:]
    return Contributions("leave-one-out", tuple(adds[:L].tolist()), tuple(adds[L:].tolist()))


def grown(seen: Run) -> tuple[Contributions | None, Integrated | None, str]:
    """Integrated gradients of the word vectors, or the reason why there are none."""
    modules = readers_of_words(seen)
    found = integrated(seen, modules) if modules else None
    if found is None:
        return (
            None,
            None,
            "No integrated gradients: the score does not follow word vectors smoothly, or there are none.",
        )
    if not found.adds_up:
        return None, None, (
            f"No integrated gradients: they miss {found.residual:.3g} of the {found.span:.3g} between the score and its "
            "baseline, so they would not tell the truth here."
        )  # fmt: skip
    left, right = torch.zeros(seen.left.ids.shape[1]), torch.zeros(seen.right.ids.shape[1])
    for part in found.parts:
        tokens = [each for each in part.call.args if isinstance(each, Tokens)][part.index]
        side = left if tokens is found.left else right
        side += part.adds.sum(-1).cpu().float()
    adds = tuple(left.tolist()), tuple(right.tolist())
    return Contributions("integrated-gradients", *adds, found.baseline, found.residual), found, ""
