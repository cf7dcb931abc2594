"""What is told of an experiment: the paper's figures and ours side by side, how sure the difference is, the curves."""

import json
from pathlib import Path
from typing import Any

from pairlight.curves import draw_curves
from pairlight.files import write_text
from pairlight.reproduce.page import Block, Heading, Picture, Table, write_page
from pairlight.reproduce.pictures import draw_bars


def write_report(out: Path, name: str, title: str, tables: list[dict[str, Any]], scale: str, command: str) -> str:
    """Write `name`.md, .html, .json and pictures to `out`; give the Markdown."""
    seeds = max(row["seeds"] for table in tables for row in table["rows"])
    blocks: list[Block] = [
        f"{title}. Scale {scale}; mean ± spread over {seeds} seed{'s' if seeds > 1 else ''}, the best epoch of each "
        f"chosen on dev. Made by `{command}`."
    ]
    if scale == "small":
        blocks.append("Small scale shows the shape of the table, on few pairs and epochs: its figures are not results.")
    for table in tables:
        blocks += _told(out, name, table)
    content = {"name": name, "title": title, "scale": scale, "command": command, "tables": tables}
    write_text(out / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return write_page(out / name, f"{name}: {title}", blocks)


def _told(out: Path, name: str, table: dict[str, Any]) -> list[Block]:
    metrics, main = table["metrics"], table["metrics"][0]
    sizes = ", ".join(f"{facts['lists']:,} lists ({part})" for part, facts in table["sizes"].items())
    head = ["model"]
    for metric in metrics:
        head += [f"{metric}, paper", f"{metric}, ours", "difference"]
    head += ["training s", "p (t-test)", "p (bootstrap)"]
    rows = []
    for row in table["rows"]:
        fields = [row["label"]]
        for metric in metrics:
            paper, ours, spread = (row[key][metric] for key in ("paper", "ours", "spread"))
            fields.append("" if paper is None else f"{paper:.3f}")
            fields.append("" if ours is None else f"{ours:.3f} ± {spread:.3f}")
            fields.append("" if paper is None or ours is None else f"{ours - paper:+.3f}")
        fields.append(f"{row['train_seconds']:.0f}")
        against = row["against"]
        fields += ["", ""] if against is None else [_p(against["t"]), _p(against["bootstrap"])]
        rows.append(fields)
    blocks: list[Block] = [
        Heading(table["data"]),
        f"Here on {table['about']} ({sizes}); the paper ran on {table['instead']}. {table['protocol']}",
        Table(head, rows),
        f"The two p are of the paired difference in {main} from {table['baseline']}, the paper's best baseline, list "
        "by list (means over seeds), by Student's t-test and by bootstrap; the sign says which is better.",
    ]
    bars, curves = out / f"{name}-{table['data']}.png", out / f"{name}-{table['data']}-curves.png"
    draw_bars(bars, [(row["label"], row["paper"][main], row["ours"][main]) for row in table["rows"]], main)
    blocks.append(Picture(bars, f"{main}, the paper's and ours"))
    if any(epochs for row in table["rows"] for epochs in row["curves"]):
        draw_curves(
            curves, {row["label"]: row["curves"] for row in table["rows"]}, "accuracy" if main == "accuracy" else "MAP"
        )
        blocks.append(Picture(curves, "Loss and dev metric after every epoch"))
    return blocks


def _p(difference: dict[str, float]) -> str:
    """The sign of the difference, and its p."""
    p = difference["p"]
    return f"{'+' if difference['mean'] >= 0 else '−'} {'< 0.001' if p < 0.001 else f'{p:.3f}'}"
