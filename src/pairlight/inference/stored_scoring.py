"""Scores one left text with stored encodings: in one pass over them where the model can, otherwise in batches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairlight.core.errors import InputError
from pairlight.inference.encodings import Encodings
from pairlight.inference.scoring import device_of, score_pairs, to_numpy, without_gradients
from pairlight.layers.collate import collate
from pairlight.layers.types import EncodedText, Seq
from pairlight.models.base import DualEncoder
from pairlight.text.tokenizer import TokenizedTexts


def score_encodings(
    model: DualEncoder[Any], query: TokenizedTexts, encodings: Encodings, top: int | None = None
) -> NDArray[np.float32]:
    """The score of one left text with every encoded text; LEFT_OUT for some not among the best `top`."""
    model.eval()
    if not len(encodings):
        return np.zeros(0, np.float32)
    with without_gradients(model):
        scorer, stored = model.stored_scorer(), encodings.stored
        u = model.encode_left(collate(query, np.array([0]), device_of(model)))
        own = u.own if isinstance(u, EncodedText) else u
        length, like = (own.x.shape[1], own.x) if isinstance(own, Seq) else (1, own)
        if encodings.x.shape[1] != (0 if model.stores_words else like.shape[-1]):
            raise InputError("These encodings have vectors of another size than the model: encode the texts again.")
        if model.stores_words and (scorer is None or stored.words is None):
            return _score_words(model, query, encodings)
        if scorer is not None and (stored.words is not None or not model.reads_subwords):
            return scorer.scores(u, stored, top)
        scores = [to_numpy(model.match(u, block.all())) for block in encodings.blocks(length, like)]
    return np.concatenate(scores).astype(np.float32, copy=False)


def _score_words(model: DualEncoder[Any], query: TokenizedTexts, encodings: Encodings) -> NDArray[np.float32]:
    """The scores of a model that looks the vectors of stored words up."""
    if encodings.ids is None:
        raise InputError("These encodings have no words: encode the texts again.")
    ids, start = np.concatenate([query.ids, encodings.ids]), np.concatenate([[0], query.start[1] + encodings.start])
    numbers = np.arange(1, len(encodings) + 1)
    return score_pairs(model, TokenizedTexts(ids, start, 0), np.zeros_like(numbers), numbers)
