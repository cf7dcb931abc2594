"""Scores the pairs of Parquet files block by block, into a folder of Parquet files."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairlight.batch.isolate import in_child, isolate
from pairlight.batch.job import Counts, ProcessBlock, load_matcher, set_aside
from pairlight.core.notes import first_of_each_kind
from pairlight.core.storage import join, write_file
from pairlight.data.blocks import Block, read_block, values_of
from pairlight.data.pairs import Pairs
from pairlight.text.checks import short_repr, text_fault

if TYPE_CHECKING:
    import pyarrow as pa

    from pairlight.matcher import Matcher

PROBABILITY, PREDICTED_LABEL = "probability", "predicted_label"  # columns that are added on request


@dataclass(frozen=True)
class ScoreJob:
    """Scores each block into a Parquet file with all its columns; rows that cannot be scored go to `_bad`."""

    model: str
    out: str
    left: str = "left"
    right: str = "right"
    score_column: str = "score"
    probability: bool = False
    as_label: bool = False

    def identity(self) -> dict[str, Any]:
        matcher = load_matcher(self.model)
        self.predict(matcher, Pairs.of(["a"], ["a"]))  # an error now if the model is not calibrated
        settings = {name: value for name, value in asdict(self).items() if name not in ("model", "out")}
        return {"job": "score", "model": matcher.scorer.fingerprint(), **settings}

    def open(self, careful: bool = False) -> ProcessBlock:
        return partial(self._process, load_matcher(self.model), set(), careful)

    def predict(self, matcher: "Matcher", pairs: Pairs) -> dict[str, NDArray[np.float32]]:
        """The columns that are added."""
        added = {self.score_column: matcher.predict(pairs)}
        if self.probability:
            added[PROBABILITY] = matcher.predict(pairs, as_probability=True)
        if self.as_label:
            added[PREDICTED_LABEL] = matcher.predict(pairs, as_label=True)
        return added

    def score_table(
        self, matcher: "Matcher", table: "pa.Table", careful: bool = False
    ) -> "tuple[pa.Table, dict[int, str]]":
        """The rows that can be scored, with their scores, and what is wrong with each of the others by its number."""
        import pyarrow as pa

        sides = [values_of(table.column(name)) for name in (self.left, self.right)]
        faults = {
            i: f"the {side} text {short_repr(text)} {fault}"
            for side, texts in zip(("left", "right"), sides, strict=True)
            for i, text in enumerate(texts)
            if (fault := text_fault(text)) is not None
        }

        def predict(rows: Sequence[int]) -> dict[str, NDArray[np.float32]]:
            return self.predict(matcher, Pairs.of(*([side[i] for i in rows] for side in sides)))

        good = [i for i in range(len(table)) if i not in faults]
        parts = list(isolate(in_child(predict) if careful else predict, good, faults))
        if faults:
            table = table.take(pa.array([i for i in good if i not in faults], pa.int64()))
        for name in self.columns:
            values = np.concatenate([np.zeros(0, np.float32), *(part[name] for part in parts)])
            table = table.append_column(name, pa.array(values))
        return table, faults

    @property
    def columns(self) -> list[str]:
        """The names of the columns that are added."""
        wanted = {PROBABILITY: self.probability, PREDICTED_LABEL: self.as_label}
        return [self.score_column, *(name for name, is_wanted in wanted.items() if is_wanted)]

    def _process(self, matcher: "Matcher", warned: set[str], careful: bool, block: Block) -> Counts:
        from pyarrow.parquet import ParquetWriter

        bad: list[tuple[pa.Table, int, dict[int, str]]] = []
        rows = 0
        with write_file(join(self.out, f"{block.name}.parquet")) as file, ExitStack() as stack:
            writer = None
            for table in read_block(block):
                with first_of_each_kind(warned):
                    scored, faults = self.score_table(matcher, table, careful)
                writer = writer or stack.enter_context(ParquetWriter(file, scored.schema))
                writer.write_table(scored)
                if faults:
                    bad.append((table, rows, faults))
                rows += len(table)
        return {"rows": rows, "bad": set_aside(self.out, block, bad)}
