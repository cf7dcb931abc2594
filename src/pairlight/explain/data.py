"""A scored pair as plain data: what the model read, what it saw, and what each word added; JSON in and out.

Everything a terminal, a picture or a page shows comes from here. Words are numbered from 0 on either side, left words
are rows (i), right words are columns (j). Whatever `adds` to the score is told in units of the score itself.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from pairlight.core.errors import InputError

FORMAT = 1
Method = Literal["leave-one-out", "integrated-gradients"]
Zeroed = Literal["word vectors", "interaction grid"]
GridKind = Literal["interaction", "attention", "state", "gate"]
Likeness = Literal["score", "words"]


@dataclass(frozen=True)
class Word:
    """A word as the model reads it, and where it stands in the text as it was given."""

    text: str  # lower case
    start: int  # side.text[start:end] is the word as it was written
    end: int
    known: bool = True  # False: never seen in training, so it shares the vector of all unknown words


@dataclass(frozen=True)
class Side:
    """One of the two texts, with the words the model read of it."""

    text: str
    words: tuple[Word, ...]
    cut: int = 0  # words behind the model's limit, which it never saw


@dataclass(frozen=True)
class Contributions:
    """What each word adds to the score; below 0 where the score would be higher without it.

    leave-one-out: the score of the pair minus its score without the word. These need not add up to anything.
    integrated-gradients: each word's part of score - baseline, where the baseline is the score of the same pair with
    all word vectors at zero. left, right and residual add up to score - baseline: the residual is what is missing.
    A model that does not see how long vectors are has its interaction grid led from zero instead, and half of what a
    cell adds goes to either of its words.
    """

    method: Method
    left: tuple[float, ...]  # one for each word of the left side
    right: tuple[float, ...]
    baseline: float | None = None
    residual: float | None = None
    zeroed: Zeroed | None = None  # what is zero in the baseline


@dataclass(frozen=True)
class Span:
    """What a row or a column of a grid stands for: words[first:end] of its side; a single word in most models.

    first == end where no words can be named.
    """

    label: str
    first: int
    end: int


@dataclass(frozen=True)
class Grid:
    """One channel: a value for every row and column.

    interaction: what two positions have to do with each other, as the model computed it
    attention:   how much each word looks at each word of the other side, from 0 to 1 (ESIM)
    state:       what the model made of everything up to this cell (Match-SRNN), in one dimension
    gate:        how much of a cell's state came from one direction (Match-SRNN), from 0 to 1, the mean over dimensions
    """

    name: str
    kind: GridKind
    rows: tuple[Span, ...]
    columns: tuple[Span, ...]
    values: tuple[tuple[float, ...], ...]  # values[row][column]


@dataclass(frozen=True)
class Cell:
    """A cell of a grid that counts, most important first."""

    grid: int  # its place in `grids`
    i: int  # row
    j: int  # column
    value: float
    order: int  # 1 for the strongest of its grid, and so on
    adds: float | None = None  # to the score, against a grid of zeros
    # adds / the sum of |adds| over all cells, or over those told where each was weighed alone: from -1 to 1
    share: float | None = None


@dataclass(frozen=True)
class Weights:
    """One number for each word of a side, as the model itself weighs it: attention, idf."""

    name: str
    left: tuple[float, ...] | None = None
    right: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Path:
    """The way the match was built, from the cell where the scan ends back to where it began (Match-SRNN)."""

    name: str  # forward, backward
    cells: tuple[tuple[int, int], ...]  # (i, j), in the order of backtracing


@dataclass(frozen=True)
class Fact:
    """One line of a model's own account: a term, a bin, a topic, a trigram, a pooled cell."""

    label: str
    left: tuple[int, ...] = ()  # words of the left side it is about
    right: tuple[int, ...] = ()
    adds: float | None = None  # to the score, or to what the score is made of where `Table.about` says so
    values: Mapping[str, float] | None = None  # further numbers, each with its name


@dataclass(frozen=True)
class Table:
    """What a model's own mechanism says beside its grids, most important first."""

    name: str
    about: str  # one sentence: how to read it
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Neighbour:
    """A training pair that is like the explained one to the model."""

    left: str
    right: str
    label: float  # as it was given for training
    score: float  # as the model scores it now
    likeness: float  # from 0 to 1, where the two pairs are the same
    row: int  # its place among the training pairs, from 0
    by: Likeness = "score"  # what is alike: what enters the score, or the words where the model has no such stage


@dataclass(frozen=True)
class Plain:
    """What can be written as JSON and read again."""

    def as_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        again = "write it anew with `pairlight explain --json`"
        if not isinstance(data, Mapping) or not isinstance(data.get("format"), int):
            raise InputError(f"This is no {cls.__name__.lower()}, it has no format number: {again}.")
        if data["format"] > FORMAT:
            raise InputError(f"This has format {data['format']}, pairlight reads up to {FORMAT}: install a newer one.")
        try:
            return _made(cls, {name: value for name, value in data.items() if name != "format"})
        except (TypeError, ValueError) as error:
            raise InputError(f"This {cls.__name__.lower()} is damaged ({error}): {again}.") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            data = json.loads(text)
        except ValueError as error:
            raise InputError(f"This is no {cls.__name__.lower()}, it is no JSON: {error}.") from None
        return cls.from_dict(data)


@dataclass(frozen=True)
class Explanation(Plain):
    """Why one pair has its score."""

    model: str
    score: float
    left: Side
    right: Side
    contributions: tuple[Contributions, ...] = ()
    grids: tuple[Grid, ...] = ()  # empty where the model never lets positions meet
    cells: tuple[Cell, ...] = ()
    weights: tuple[Weights, ...] = ()
    paths: tuple[Path, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be told, and why
    probability: float | None = None  # calibrated, where the model is
    nearest: tuple[Neighbour, ...] = ()  # most like first; where they were asked for

    @property
    def shown(self) -> int | None:
        """The grid to look at first: the state the path runs over, else the one with the cell that counts most."""
        states = [place for place, grid in enumerate(self.grids) if grid.kind == "state"]
        if states:
            return states[0]
        return self.cells[0].grid if self.cells else (0 if self.grids else None)

    def by(self, method: Method) -> Contributions | None:
        """The contributions found by this method, where the model allows it."""
        return next((each for each in self.contributions if each.method == method), None)


@dataclass(frozen=True)
class Difference:
    """Two words whose meeting adds more to the best candidate than to another one, or less."""

    grid: str  # its name
    left: str  # what the row stands for
    right: str
    i: int  # the row
    best: tuple[int, ...]  # columns of the best candidate's cells that count; empty where there are none
    other: tuple[int, ...]
    adds: float  # to the best minus to the other


@dataclass(frozen=True)
class Comparison(Plain):
    """Why some right texts match a left one better than others: explanations, best score first, and what differs.

    `left` has, for every left word, what it adds against the best candidate minus what it adds against each other one;
    `cells` the same for the cells that count of either, the largest difference first, where the model has such cells.
    """

    explanations: tuple[Explanation, ...]
    order: tuple[int, ...]  # which of the texts as they were given each explanation is of
    left: tuple[tuple[float, ...], ...]  # [candidates - 1][left words], by leaving out
    cells: tuple[tuple[Difference, ...], ...] = ()  # [candidates - 1][at most 12]


def _made(kind: Any, value: Any) -> Any:
    """The value as this type: dataclasses out of mappings, tuples out of lists."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _made(next(each for each in inner if each is not type(None)), value)
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_made(each, part) for each, part in zip(kinds, value, strict=True))
    if origin is Literal:
        if value not in inner:
            raise ValueError(f"{value!r} is none of {', '.join(inner)}")
        return value
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, Mapping):
            raise TypeError(f"{value!r} has no fields")
        return kind(**{name: _made(hints.get(name), each) for name, each in value.items()})  # type: ignore[operator]
    return float(value) if kind is float else value
