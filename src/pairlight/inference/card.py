"""The card of a saved model in Markdown: what it is, how it was trained, and how well it does."""

from collections.abc import Mapping
from math import prod
from typing import Any

from pairlight.core.markdown import code_block, escape_markdown, markdown_table
from pairlight.models.base import PairModel

_EXAMPLE = """```python
from pairlight import Matcher

Matcher.load("this folder").predict([("left text", "right text")])
```"""


def model_card(
    model: PairModel,
    config: Mapping[str, Any],
    results: Mapping[str, Mapping[str, float]],
    command: str | None,
    about_data: str | None,
) -> str:
    """The card for a model and the contents of its config.json."""
    size = sum(prod(parameter.shape) for parameter in model.parameters())
    history, metric = config["history"], config["training"].get("metric")
    sections = [
        f"# {config['model']}",
        f"A pairlight model ({model.paper}) that scores how well two texts match. {size:,} parameters.",
        _EXAMPLE,
        "## Data",
        markdown_table(
            ["part", "pairs", "lists", "distinct texts", "sha256"],
            [
                [part, f"{about['pairs']:,}", f"{about['lists']:,}", f"{about['texts']:,}", f"`{about['sha256'][:16]}`"]
                for part, about in config["data"].items()
            ],
        ),
        *([about_data] if about_data else []),
        "## Settings",
        _table(config["settings"]),
        "## Training",
        _table(config["training"]),
    ]
    if history.get("best_epoch") is not None:
        measured = "" if history["best"] is None else f", dev {metric} {history['best']:.4f}"
        sections.append(f"Best epoch: {history['best_epoch']} of {len(history['epochs'])}{measured}.")
    if results:
        rows = [
            [escape_markdown(data), metric, f"{value:.4f}"]
            for data, metrics in results.items()
            for metric, value in metrics.items()
        ]
        sections += ["## Results", markdown_table(["data", "metric", "value"], rows)]
    if command:
        sections += ["## Command", code_block(command)]
    return "\n\n".join(sections) + "\n"


def _table(values: Mapping[str, Any]) -> str:
    return markdown_table(["name", "value"], [[name, escape_markdown(value)] for name, value in values.items()])
