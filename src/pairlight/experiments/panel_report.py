"""The results of the panel as Markdown tables."""

import statistics
from collections.abc import Iterable, Sequence

from pairlight.core.markdown import markdown_table
from pairlight.experiments.panel import CUTS, MAIN_MODELS, MARGIN, PANEL, PanelResult


def panel_report(results: Sequence[PanelResult]) -> str:
    """What is finished of the panel: the main models by the number of training lists, and every model with 500."""
    parts = []
    for cut in reversed(CUTS):
        found = [result for result in results if result.cut == cut and result.test and result.model in MAIN_MODELS]
        if found:
            size = f"{cut:,} training lists or pairs" if cut else "All training data"
            parts += [f"## {size}", _table(found, MAIN_MODELS)]
    every = [result for result in results if result.cut == 500 and result.seed == 1 and result.test]
    if every:
        parts += ["## Every model with 500 training lists or pairs, one seed", _table(every, sorted(_models(every)))]
    parts += ["## Checks", _checks([result for result in results if result.test])]
    return "\n\n".join(parts) + "\n"


def _models(results: Iterable[PanelResult]) -> set[str]:
    return {result.model for result in results}


def _table(results: Sequence[PanelResult], models: Sequence[str]) -> str:
    """Test metrics: a row for BM25 and one for each model; mean ± standard deviation where there are several seeds."""
    metric = {result.dataset: result.metric for result in results}
    bm25 = {result.dataset: result.test["bm25"] for result in results}
    head = ["model", *(f"{name} ({metric[name]})" for name in PANEL if name in metric), "seeds"]
    rows = [["BM25", *(f"{bm25[name]:.3f}" for name in PANEL if name in metric), ""]]
    for model in models:
        own = [result for result in results if result.model == model]
        if not own or model == "bm25":
            continue
        values = {name: [each.test["model"] for each in own if each.dataset == name] for name in metric}
        seeds = sorted({len(each) for each in values.values() if each})
        count = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        rows.append([model, *(_mean(values[name]) for name in PANEL if name in metric), count])
    return markdown_table(head, rows, "l" + "r" * (len(head) - 1))


def _mean(values: Sequence[float]) -> str:
    if len(values) < 2:
        return "".join(f"{value:.3f}" for value in values)
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def _checks(results: Sequence[PanelResult]) -> str:
    trained = [result for result in results if result.model != "bm25"]
    failed_dev = [result for result in trained if not result.passes_dev]
    failed_test = [result for result in trained if not result.passes_test]
    lines = [
        f"{len(trained)} runs. On dev at least BM25's and the untrained model's metric: "
        f"{len(trained) - len(failed_dev)} of {len(trained)}. On test not significantly below BM25 - {MARGIN:g} "
        f"(paired bootstrap, 95 %): {len(trained) - len(failed_test)} of {len(trained)}.",
    ]
    for what, failed in (("dev", failed_dev), ("test", failed_test)):
        lines += [
            f"- {what}: {each.model} on {each.dataset}, {each.cut or 'all'}, seed {each.seed}: "
            f"{(each.dev if what == 'dev' else each.test)['model']:.3f}, BM25 "
            f"{(each.dev if what == 'dev' else each.test)['bm25']:.3f}"
            for each in failed
        ]
    return "\n".join([lines[0], "", *lines[1:]]).rstrip()
