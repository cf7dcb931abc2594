"""What is told of the LCS experiment: every start, the best one's grid beside the table, and figure 4."""

import json
from pathlib import Path
from typing import Any

from pairlight.experiments.curves import draw_curves
from pairlight.core.files import write_text
from pairlight.experiments.lcs import EXAMPLE, TARGET
from pairlight.experiments.page import Block, Heading, Picture, Table, write_page
from pairlight.experiments.figures import draw_figure_4

TITLE = "match-srnn-lcs: Match-SRNN counts longest common subsequences"


def write_report(out: Path, found: dict[str, Any], scale: str, command: str) -> str:
    """Write match-srnn-lcs-`scale`.md, .html, .json and pictures to `out`; give the Markdown."""
    whole = f"match-srnn-lcs-{scale}"
    blocks: list[Block] = [
        f"Section 5 and figure 4 of the Match-SRNN paper (Wan et al., IJCAI 2016), scale {scale}. The paper gives no "
        "error, only that its states are identical to the table of dynamic programming for one example. The label is "
        "the length of the longest common subsequence divided by the greatest length a sequence may have. The best "
        f"start is the one with the least error on dev. Aim: a mean absolute error of at most {TARGET} on test. "
        f"Made by `{command}`."
    ]
    for name, each in found.items():
        blocks += _told(out, f"{whole}-{name.replace(' ', '-')}", name, each)
    write_text(
        out / f"{whole}.json",
        json.dumps({"scale": scale, "command": command, "found": found}, indent=1, ensure_ascii=False) + "\n",
    )
    return write_page(out / whole, TITLE, blocks)


def _told(out: Path, file: str, name: str, found: dict[str, Any]) -> list[Block]:
    best = found["starts"][found["best"]]
    example = best["example"]
    figure, curves = out / f"{file}-figure-4.png", out / f"{file}-curves.png"
    draw_figure_4(figure, example)
    draw_curves(curves, {f"start {start['seed']}": [start["curve"]] for start in found["starts"]}, "error")
    sizes = ", ".join(f"{size:,} {part}" for part, size in found["sizes"].items())
    same = "a path of dynamic programming" if example["same_path"] else "no path of dynamic programming"
    rows = [
        [
            f"start {start['seed']}" + (" (best)" if start is best else ""),
            f"{start['dev']['error']:.4f}",
            f"{start['test']['error']:.4f}",
            f"{start['test']['error in letters']:.3f}",
            f"{start['test']['same path']:.1%}",
            f"{start['test']['same path by three gates']:.1%}",
            f"{start['example']['farthest']:.3f}",
            "yes" if start["example"]["path"] == start["example"]["table_path"] else "no",
            f"{start['train_seconds']:.0f}",
        ]
        for start in found["starts"]
    ]
    head = ["start", "dev error", "test error", "in letters", "paths equal to a DP path", "by three gates alone"]
    head += ["example: farthest state", "example: path of figure 4", "training s"]
    return [
        Heading(f"Sequences of {name} ({sizes} pairs)"),
        Table(head, rows),
        f"The best start's test error is {best['test']['error']:.4f}; "
        f"{best['test']['same path']:.1%} of the paths that its gates show on test are paths of dynamic programming. A "
        "path goes along the largest gate; the gate of the new state counts with the diagonal, as the paper's (7) "
        "has one term for both; by the three gates alone, as the paper writes, a match that opens the gate of the new "
        "state is missed.",
        f"The paper's example, {EXAMPLE[0]} and {EXAMPLE[1]}: the state farthest from the table is "
        f"{example['farthest']:.3f} off, and the gates show {same}. States are told in letters, as the score that the "
        "model would give if both sequences ended there.",
        Picture(figure, "The table, the states and the gates, with their paths"),
        Heading(f"Learning curves, {name}"),
        Picture(curves, "Loss and error on dev after every epoch"),
    ]
