"""The card of a saved model: what it is, what it was trained on, how, and how well it did."""

from typing import Any

from pairlight.models.base import PairModel


def model_card(
    name: str, model: PairModel, config: dict[str, Any], results: dict[str, Any] | None, command: str | None
) -> str:
    """A model card in Markdown."""
    size = sum(parameter.numel() for parameter in model.parameters())
    facts, options = config["facts"], config["options"]
    lines = [
        f"# {name}",
        "",
        f"A pairlight model ({model.paper}) that scores how well two texts match. {size:,} parameters.",
    ]
    lines += [
        "",
        "```python",
        "from pairlight import Matcher",
        "",
        'Matcher.load("this folder").predict([("left text", "right text")])',
        "```",
    ]
    lines += ["", "## Data", "", "| part | pairs | lists | distinct texts | sha256 |", "|---|---|---|---|---|"]
    lines += [
        f"| {part} | {f['pairs']:,} | {f['lists']:,} | {f['texts']:,} | `{f['sha256'][:16]}` |"
        for part, f in facts.items()
    ]
    lines += ["", "## Settings", "", _table(config["settings"]), "", "## Training", "", _table(options)]
    history = config["history"]
    if history["best_epoch"] is not None:
        measured = "" if history["best"] is None else f", dev {options['metric']} {history['best']:.4f}"
        lines += ["", f"Best epoch: {history['best_epoch']} of {len(history['epochs'])}{measured}."]
    if results:
        lines += ["", "## Results", "", "| data | metric | value |", "|---|---|---|"]
        lines += [
            f"| {data} | {metric} | {value:.4f} |" for data, found in results.items() for metric, value in found.items()
        ]
    if command:
        lines += ["", "## Command", "", "```", command, "```"]
    return "\n".join(lines) + "\n"


def _table(values: dict[str, Any]) -> str:
    return "\n".join(["| name | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in values.items())])
