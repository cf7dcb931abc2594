"""What a mechanism is given, the traced pair, and what it adds to: the findings."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pairlight.explain.attribution import IntegratedGradients, word_vector_gradients
from pairlight.explain.data import Fact, FactTable, GatePath, GridView, TextView, WordWeights
from pairlight.explain.grids import AxisLabels
from pairlight.explain.trace import LayerCall, Trace
from pairlight.layers.types import Array
from pairlight.text.vocabulary import AnyTokenizer

MAX_FACTS = 15  # rows of a table


@dataclass(frozen=True)
class TracedPair:
    """A pair with the record of its forward pass."""

    trace: Trace
    left: TextView
    right: TextView
    rows: AxisLabels  # of the interaction grid; empty without one
    columns: AxisLabels
    tokenizer: AnyTokenizer

    @functools.cached_property
    def word_gradients(self) -> IntegratedGradients | None:
        """Integrated gradients of the word vectors, computed on first use."""
        return word_vector_gradients(self.trace)

    def words(self, side: int, position: int, before: int = 0, after: int = 0) -> tuple[int, ...]:
        """The words of a row (side 0) or column (side 1) and of this many neighbors."""
        labels = (self.rows, self.columns)[side][max(position - before, 0) : position + after + 1]
        return tuple(range(min(each.first for each in labels), max(each.end for each in labels))) if labels else ()


@dataclass
class Findings:
    """The parts of an explanation that come from mechanisms."""

    grids: list[GridView] = field(default_factory=list)
    weights: list[WordWeights] = field(default_factory=list)
    paths: list[GatePath] = field(default_factory=list)
    tables: list[FactTable] = field(default_factory=list)


# Called for every call of a layer of the type it is registered for.
Mechanism = Callable[[TracedPair, Any, LayerCall, Findings], None]


def top_facts(facts: list[Fact], *, keep_sum: bool = True) -> tuple[Fact, ...]:
    """The facts with the largest contributions; `keep_sum` adds one row for all others."""
    facts = sorted(facts, key=lambda fact: -abs(fact.contribution or 0))
    rest = facts[MAX_FACTS:] if keep_sum else []
    more = [Fact(f"{len(rest)} more", contribution=sum(fact.contribution or 0 for fact in rest))] if rest else []
    return (*facts[:MAX_FACTS], *more)


def to_floats(x: Array) -> tuple[float, ...]:
    return tuple(x.tolist())
