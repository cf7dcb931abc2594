"""What is told of an experiment: the paper's figures and ours side by side, how sure the difference is, the curves."""

import json
import statistics
from pathlib import Path
from typing import Any

from pairlight.experiments.curves import draw_curves
from pairlight.core.files import write_text
from pairlight.experiments.page import Block, Heading, Picture, Table, write_page
from pairlight.experiments.figures import draw_bars

READ = (
    "The two p are of the paired difference from the paper's best baseline in the first metric, list by list or pair "
    "by pair (means over seeds), by Student's t-test and by bootstrap; the sign says which is better. Core s are the "
    "seconds of one core that one seed takes, word vectors and scoring included."
)

# Of all training options, those that tell rows apart.
_TOLD = ("loss", "optimizer", "lr", "epsilon", "vectors", "freeze", "epochs", "patience")


def write_report(out: Path, name: str, title: str, tables: list[dict[str, Any]], scale: str, command: str) -> str:
    """Write `name`-`scale`.md, .html, .json and pictures to `out`; give the Markdown."""
    blocks: list[Block] = [
        f"{title}. Scale {scale}; mean ± spread over seeds, the best epoch of each chosen on dev.",
        f"Last run: `{command}`.",
        READ,
    ]
    if scale == "small":
        blocks.append("Small scale shows the shape of the table, on few pairs and epochs: its figures are not results.")
    for table in tables:
        blocks += _told(out, f"{name}-{scale}-{table['data']}", table)
    content = {"name": name, "title": title, "scale": scale, "command": command, "tables": tables}
    write_text(out / f"{name}-{scale}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return write_page(out / f"{name}-{scale}", f"{name}: {title}", blocks)


def table_of(table: dict[str, Any]) -> Table:
    """The paper's figures and ours, row by row; a row that was not trained has none of ours."""
    metrics = table["metrics"]
    head = ["model"]
    for metric in metrics:
        head += [f"{metric}, paper", f"{metric}, ours", "difference"]
    head += ["seeds", "core s", "p (t-test)", "p (bootstrap)"]
    rows = []
    for row in table["rows"]:
        fields = [row["label"]]
        for metric in metrics:
            paper, ours, spread = (row[key][metric] for key in ("paper", "ours", "spread"))
            fields.append("" if paper is None else f"{paper:.3f}")
            fields.append("" if ours is None else f"{ours:.3f}" + (f" ± {spread:.3f}" if row["seeds"] > 1 else ""))
            fields.append("" if paper is None or ours is None else f"{ours - paper:+.3f}")
        fields.append(str(row["seeds"]))
        fields.append(f"{statistics.mean(row['seconds']):.0f}" if row["seconds"] else "")
        against = row["against"]
        fields += ["", ""] if against is None else [_p(against["t"]), _p(against["bootstrap"])]
        rows.append(fields)
    return Table(head, rows)


def caption_of(table: dict[str, Any]) -> str:
    """What stands in for what, which row the p are against, and how long it took."""
    unit = "pairs" if table["metrics"][0] == "accuracy" else "lists"
    sizes = ", ".join(f"{facts[unit]:,} {unit} ({part})" for part, facts in table["sizes"].items())
    minutes = sum(sum(row["seconds"]) for row in table["rows"]) / 60
    compared = f"p against {table['baseline']}. " if any(row["against"] for row in table["rows"]) else ""
    return (
        f"Here on {table['about']} ({sizes}); the paper ran on {table['instead']}. {compared}"
        f"All rows took {minutes:.1f} minutes of one core."
    )


def _told(out: Path, name: str, table: dict[str, Any]) -> list[Block]:
    main = table["metrics"][0]
    blocks: list[Block] = [Heading(table["data"]), caption_of(table), table["protocol"], table_of(table)]
    bars, curves = out / f"{name}.png", out / f"{name}-curves.png"
    draw_bars(bars, table["rows"], main)
    blocks.append(Picture(bars, f"{main}, the paper's and ours"))
    if any(epochs for row in table["rows"] for epochs in row["curves"]):
        judged = "accuracy" if main == "accuracy" else "MAP"
        draw_curves(curves, {row["label"]: row["curves"] for row in table["rows"]}, judged)
        blocks.append(Picture(curves, "Loss and dev metric after every epoch"))
    settings = [
        [row["label"], ", ".join(f"{name}={value}" for name, value in row["settings"].items())]
        + [str(row["options"][name]) for name in _TOLD]
        for row in table["rows"]
        if any(row["curves"])
    ]
    return [
        *blocks,
        "How each row was set and trained; the loss auto is hinge for lists and cross-entropy for pairs.",
        Table(["model", "settings", *_TOLD], settings),
    ]


def _p(difference: dict[str, float]) -> str:
    """The sign of the difference, and its p."""
    p = difference["p"]
    return f"{'+' if difference['mean'] >= 0 else '−'} {'< 0.001' if p < 0.001 else f'{p:.3f}'}"
