"""Scores pairs inside Spark, with a function for `DataFrame.mapInPandas`."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from pairlight.batch.job import job_backend, load_matcher
from pairlight.data.pairs import Pairs
from pairlight.layers.backends import set_threads
from pairlight.text.checks import text_fault

if TYPE_CHECKING:
    import pandas as pd

    from pairlight.matcher import Matcher

Frames = Iterator["pd.DataFrame"]


def score_udf(
    model: str, left: str = "left", right: str = "right", score_column: str = "score"
) -> Callable[[Frames], Frames]:
    """A function for `frame.mapInPandas(score_udf("qa-small"), schema)`, where the schema has one more column, a float.

    The score of a row without two usable texts is null. The model must be on every node, under the same path or name.
    """

    def score(frames: Frames) -> Frames:
        for frame in frames:
            texts = list(zip(frame[left], frame[right], strict=True))
            good = [i for i, pair in enumerate(texts) if not any(map(text_fault, pair))]
            values: list[float | None] = [None] * len(texts)
            if good:
                pairs = Pairs.of([texts[i][0] for i in good], [texts[i][1] for i in good])
                for i, value in zip(good, _loaded(model).predict(pairs).tolist(), strict=True):
                    values[i] = value
            yield frame.assign(**{score_column: values})

    return score


@cache
def _loaded(model: str) -> "Matcher":
    """The model, loaded once for each process of Spark, of which there is one for each core."""
    set_threads(1, job_backend())
    return load_matcher(model)
