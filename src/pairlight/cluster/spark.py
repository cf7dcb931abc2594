"""Scores pairs inside Spark, with a function for `DataFrame.mapInPandas`."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pairlight.data.pairs import Pairs
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
    loaded: list[Matcher] = []  # once for each process of Spark

    def score(frames: Frames) -> Frames:
        from pairlight.matcher import Matcher

        if not loaded:
            loaded.append(Matcher.load(model))
        for frame in frames:
            texts = list(zip(frame[left], frame[right], strict=True))
            good = [i for i, pair in enumerate(texts) if not any(map(text_fault, pair))]
            values: list[float | None] = [None] * len(texts)
            if good:
                pairs = Pairs.of([texts[i][0] for i in good], [texts[i][1] for i in good])
                for i, value in zip(good, loaded[0].predict(pairs).tolist(), strict=True):
                    values[i] = value
            yield frame.assign(**{score_column: values})

    return score
