"""Measures departures from papers that are not options: how weights start, and on which texts vectors are trained.

python -m benchmarks.departures --out FOLDER. The rows that they are compared with are those of
`pairlight reproduce mv-lstm-departures` and `amv-lstm-departures`. It needs WikiQA (PAIRLIGHT_DATA).
"""

import argparse
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch

from pairlight.data.splits import Splits
from pairlight.experiments.papers import PAPER_TABLES, PaperRow
from pairlight.experiments.reproduce import plan_row
from pairlight.experiments.runs import train_run
from pairlight.experiments.sources import make_source, read_source
from pairlight.models.base import PairModel
from pairlight.text.tokenizer import WordSplitter
from pairlight.text.vectors import skip_gram

SEEDS = (1, 2, 3)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.departures", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build", "benchmarks", "departures"), help="for the datasets")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    for table, data, metric in (("mv-lstm-departures", "sotu", "P@1"), ("amv-lstm-departures", "wikiqa", "MAP")):
        make_source(data, "full", out, lambda done: None)
        splits = read_source(data, "full", out)
        row = PAPER_TABLES[table].rows[0]
        with patch.object(PairModel, "init_weights", _all_uniform):
            _report(row, "biases and attention vectors uniform", metric, [_test(row, each, splits) for each in SEEDS])
        if data == "sotu":
            _report(row, "skip-gram on all texts", metric, [_with_all_texts(row, each, splits) for each in SEEDS])


def _report(row: PaperRow, change: str, metric: str, results: Sequence[Mapping[str, float]]) -> None:
    values = [each[metric] for each in results]
    mean, std = statistics.mean(values), statistics.pstdev(values)
    print(f"{row.label}, {change}: test {metric} {mean:.3f} ± {std:.3f}", *(f"{value:.3f}" for value in values))


def _test(row: PaperRow, seed: int, splits: Splits) -> dict[str, float]:
    return train_run(plan_row(row, "full", seed), splits)[1].test


def _all_uniform(self: PairModel, scale: float) -> None:
    """Like `init_weights`, but biases and attention vectors are not zero."""
    with torch.no_grad():
        for parameter in self.parameters():
            parameter.uniform_(-scale, scale)
        for layer in self.all_layers():
            if hasattr(layer, "padding_id"):
                layer.weight[layer.padding_id] = 0
            layer.adjust_start()


def _with_all_texts(row: PaperRow, seed: int, splits: Splits) -> dict[str, float]:
    """With skip-gram vectors of the training, dev and test texts."""
    split = WordSplitter().split
    texts = [split(text) for pairs in splits.values() for text in dict.fromkeys(pairs.texts)]
    words = sorted({word for text in texts for word in text})
    vectors = skip_gram(texts, words, dim=50, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "vectors.txt")
        lines = (f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in zip(words, vectors.rows, strict=True))
        file.write_text("".join(lines), "utf-8")
        return _test(replace(row, options={**row.options, "vectors": str(file)}), seed, splits)


if __name__ == "__main__":
    main()
