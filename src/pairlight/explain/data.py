"""The explanation of a scored pair as plain data, with JSON in and out.

Words are numbered from 0 in each text. Left words are rows (i) of a grid, right words are columns (j). A contribution
is measured in units of the score.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from pairlight.core.errors import InputError
from pairlight.core.records import decode

FORMAT = 2
AttributionMethod = Literal["leave-one-out", "integrated-gradients"]
ZeroedInput = Literal["word vectors", "interaction grid"]
GridKind = Literal["interaction", "attention", "state", "gate"]
SimilarityBasis = Literal["score", "words"]


@dataclass(frozen=True)
class WordSpan:
    """A word as the model reads it, and its position in the original text."""

    text: str  # in lower case
    start: int  # the original spelling is text[start:end]
    end: int
    known: bool = True  # False for an out-of-vocabulary word


@dataclass(frozen=True)
class TextView:
    """One of the two texts and the words that the model reads."""

    text: str
    words: tuple[WordSpan, ...]
    truncated: int = 0  # words after the model's length limit, which are not read


@dataclass(frozen=True)
class Contributions:
    """What each word contributes to the score; negative if the score would be higher without it.

    leave-one-out         the score of the pair minus its score without the word. The values need not have a meaningful
                          sum.
    integrated-gradients  the share of the word in score - baseline, where the baseline is the score of the same pair
                          with all word vectors set to zero. The values of both texts and the residual, an error of the
                          numerical integration, sum to score - baseline. For models that ignore the length of word
                          vectors, the interaction grid is set to zero instead of the vectors, and each of the two words
                          of a cell gets half of its contribution.
    """

    method: AttributionMethod
    left: tuple[float, ...]  # one value per word of the left text
    right: tuple[float, ...]
    baseline: float | None = None
    residual: float | None = None
    zeroed: ZeroedInput | None = None  # what is zero in the baseline


@dataclass(frozen=True)
class AxisLabel:
    """A row or column of a grid: words[first:end] of its text, a single word for most models.

    first == end if the position does not correspond to particular words.
    """

    text: str
    first: int
    end: int


@dataclass(frozen=True)
class GridView:
    """One channel of a grid: a value for every row and column.

    interaction  how two positions interact, as computed by the model
    attention    the attention of each word to each word of the other text, from 0 to 1 (ESIM)
    state        one dimension of the state of every cell (Match-SRNN)
    gate         the share of a cell's state that comes from one direction (Match-SRNN), from 0 to 1, as the mean over
                 all dimensions
    """

    name: str
    kind: GridKind
    rows: tuple[AxisLabel, ...]
    columns: tuple[AxisLabel, ...]
    values: tuple[tuple[float, ...], ...]  # values[row][column]


@dataclass(frozen=True)
class TopCell:
    """One of the most important cells of a grid."""

    grid: int  # the index of the grid in `grids`
    i: int  # row
    j: int  # column
    value: float
    rank: int  # 1 for the most important cell of its grid
    contribution: float | None = None  # to the score, compared with a grid of zeros
    # The contribution divided by the sum of absolute contributions, from -1 to 1. The sum is over all cells of the
    # interaction, or over the top cells if these were set to zero one by one.
    share: float | None = None


@dataclass(frozen=True)
class WordWeights:
    """One weight per word, as the model itself computes it: attention or idf."""

    name: str
    left: tuple[float, ...] | None = None
    right: tuple[float, ...] | None = None


@dataclass(frozen=True)
class GatePath:
    """The cells that the last state was built from, backtraced along the largest gates (Match-SRNN)."""

    name: str  # forward or backward
    cells: tuple[tuple[int, int], ...]  # (i, j), starting with the last cell of the scan


@dataclass(frozen=True)
class Fact:
    """One row of a table: a term, a bin, a topic, a character n-gram or a pooled cell."""

    label: str
    left: tuple[int, ...] = ()  # the words of the left text that it is about
    right: tuple[int, ...] = ()
    contribution: float | None = None  # to the score, or to what `FactTable.description` names
    values: Mapping[str, float] | None = None  # more values, by name


@dataclass(frozen=True)
class FactTable:
    """Details of a model's mechanism other than grids, most important first."""

    name: str
    description: str  # one sentence on how to read the table
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Neighbor:
    """A training pair that the model treats similarly to the explained pair."""

    left: str
    right: str
    label: float  # the training label
    score: float  # the current score of the training pair
    similarity: float  # from 0 to 1
    row: int  # index among the training pairs
    basis: SimilarityBasis = "score"  # compares the inputs of the scoring layer, or words for models without one


@dataclass(frozen=True)
class JsonRecord:
    """Base class of records that can be written to and read from JSON."""

    def as_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        name = cls.__name__.lower()
        if not isinstance(data, Mapping) or not isinstance(data.get("format"), int):
            raise InputError(f"This is not a saved {name}, because it has no format number: save the {name} again.")
        if data["format"] != FORMAT:
            fix = "install a newer version" if data["format"] > FORMAT else "explain the texts again"
            raise InputError(f"This {name} has format {data['format']}, and this version reads format {FORMAT}: {fix}.")
        try:
            record: Self = decode(cls, {name: value for name, value in data.items() if name != "format"})
            return record
        except ValueError as error:
            raise InputError(f"This {name} is damaged ({error}): save it again.") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            data = json.loads(text)
        except ValueError as error:
            name = cls.__name__.lower()
            raise InputError(f"This is not a saved {name}, because it is not JSON ({error}): save it again.") from None
        return cls.from_dict(data)


@dataclass(frozen=True)
class Explanation(JsonRecord):
    """Why a pair has its score."""

    model: str
    score: float
    left: TextView
    right: TextView
    contributions: tuple[Contributions, ...] = ()
    grids: tuple[GridView, ...] = ()  # empty if the model does not compare positions
    cells: tuple[TopCell, ...] = ()  # most important first
    weights: tuple[WordWeights, ...] = ()
    paths: tuple[GatePath, ...] = ()
    tables: tuple[FactTable, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be explained, and why
    probability: float | None = None  # set if the model is calibrated
    nearest: tuple[Neighbor, ...] = ()  # most similar first; empty unless requested

    @property
    def main_grid(self) -> int | None:
        """The index of the grid to show first: the state of a scan, otherwise the grid of the most important cell."""
        states = [number for number, grid in enumerate(self.grids) if grid.kind == "state"]
        if states:
            return states[0]
        return self.cells[0].grid if self.cells else (0 if self.grids else None)

    def contributions_by(self, method: AttributionMethod) -> Contributions | None:
        """The contributions computed with this method, or None if the model does not support it."""
        return next((each for each in self.contributions if each.method == method), None)


@dataclass(frozen=True)
class CellDifference:
    """Two words whose cells contribute more, or less, to the best candidate than to another one."""

    grid: str  # name of the grid
    left: str  # label of the row
    right: str  # label of the columns
    i: int  # row
    best_columns: tuple[int, ...]  # columns of top cells of the best candidate; empty if there are none
    other_columns: tuple[int, ...]
    contribution: float  # to the best candidate minus to the other one


@dataclass(frozen=True)
class Comparison(JsonRecord):
    """Why one right text scores higher than others for the same left text.

    Explanations are sorted by score, highest first. Entry n of both lists of differences compares the best candidate
    with candidate n + 1.
    """

    explanations: tuple[Explanation, ...]
    order: tuple[int, ...]  # the index of each explanation's right text among the texts given
    # [candidates - 1][left words]: the leave-one-out contribution to the best candidate minus to the other one
    left_differences: tuple[tuple[float, ...], ...]
    # [candidates - 1][at most 12]: the same for top cells, largest absolute difference first
    cell_differences: tuple[tuple[CellDifference, ...], ...] = ()


@dataclass(frozen=True)
class ReportCase:
    """Explanations shown side by side in a report, with a description and the categories to filter by."""

    explanations: tuple[Explanation, ...]
    description: str = ""
    roles: tuple[str, ...] = ()  # one heading per explanation
    categories: tuple[str, ...] = ()
