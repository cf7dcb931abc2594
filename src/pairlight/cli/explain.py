"""`pairlight explain`: show why two texts match, in the terminal, as JSON, as an image or as a page."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairlight.cli.options import Json, Model, Threads
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.files import write_text

if TYPE_CHECKING:
    from pairlight.data.pairs import Pairs
    from pairlight.explain.data import Explanation


def explain(
    model: Model,
    left: Annotated[str, typer.Argument(help="The left text.")],
    right: Annotated[list[str], typer.Argument(help="The right text, or several to compare.")],
    png: Annotated[Path | None, typer.Option("--png", help="Draw the grid of the best pair to this PNG file.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw the grid of the best pair to this SVG file.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to this HTML file.")] = None,
    grid: Annotated[
        int | None, typer.Option("--grid", min=1, help="Number of the grid to draw; the first is 1.")
    ] = None,
    nearest: Annotated[
        Path | None,
        typer.Option("--nearest", help="Also show the most similar training pairs of this file of labeled pairs."),
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Explain why two texts match, or why one matches best."""
    for path, name in ((png, "png"), (svg, "svg"), (html, "html")):
        if path is not None and path.suffix != f".{name}":
            raise InputError(f"{path} does not end in .{name}: rename it.", option=name)
    if grid is not None and png is None and svg is None:
        raise InputError("--grid selects the grid that --png or --svg draws: give one of these too.")
    from pairlight.matcher import Matcher

    configure_process(threads)
    matcher = Matcher.load(model)
    train_pairs = None if nearest is None else _read_training_pairs(nearest)

    def with_nearest(explanation: "Explanation") -> "Explanation":
        if train_pairs is None:
            return explanation
        return replace(explanation, nearest=matcher.nearest(left, explanation.right.text, train_pairs))

    comparison = None if len(right) == 1 else matcher.explain(left, right)
    found = (matcher.explain(left, right[0]),) if comparison is None else comparison.explanations
    explanations = tuple(map(with_nearest, found))
    result = explanations[0] if comparison is None else replace(comparison, explanations=explanations)
    for path in (png, svg):
        if path is not None:
            from pairlight.explain.render.image import draw_explanation

            draw_explanation(explanations[0], path, grid=None if grid is None else grid - 1)
    if html is not None:
        from pairlight.explain.render.html import explanation_page

        write_text(html, explanation_page(explanations))
    if as_json:
        print_json(result.as_dict(), indent=None)
        return
    from rich.console import Console

    from pairlight.explain.data import Comparison
    from pairlight.explain.render.terminal import ComparisonView, ExplanationView

    view = ComparisonView(result) if isinstance(result, Comparison) else ExplanationView(result)
    Console(highlight=False).print(view)
    for path in (png, svg, html):
        if path is not None:
            print(f"Written to {path}")


def _read_training_pairs(source: Path) -> "Pairs":
    """Read the pairs for --nearest; their columns cannot be named, because --left and --right are texts here."""
    from pairlight.data.readers import read_pairs

    try:
        return read_pairs(source)[0]
    except InputError as error:
        if error.option not in ("left", "right", "label"):
            raise
        raise InputError(f"{error} Name the columns left, right and label.", option="nearest") from None
