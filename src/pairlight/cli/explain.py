"""`pairlight explain`: why two texts match, in the terminal, as JSON, as a picture or as a page."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pairlight.cli import common
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.explain.data import Explanation
from pairlight.core.files import write_text
from pairlight.core.progress import progress_reporter


def explain(
    model: Annotated[Path, typer.Argument(help="Folder of a saved model.")],
    left: Annotated[str, typer.Argument(help="The left text.")],
    right: Annotated[list[str], typer.Argument(help="The right text, or several to compare.")],
    png: Annotated[Path | None, typer.Option("--png", help="Draw the grid of the best pair to this PNG file.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw it to this SVG file.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to this HTML file.")] = None,
    grid: Annotated[int | None, typer.Option("--grid", min=1, help="Which grid to draw; the first is 1.")] = None,
    nearest: Annotated[
        Path | None, typer.Option("--nearest", help="Also show the most alike of the training pairs in this file.")
    ] = None,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Show why two texts match, or why one of several matches best."""
    for path, form in ((png, ".png"), (svg, ".svg"), (html, ".html")):
        if path is not None and path.suffix != form:
            raise InputError(f"--{form[1:]} {path} does not end in {form}: name it so.")
    if grid is not None and png is None and svg is None:
        raise InputError(f"--grid {grid} chooses what --png or --svg draws: give one of them too.")
    from pairlight.matcher import Matcher

    common.use_threads(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        train = None if nearest is None else _trained_on(nearest)

        def beside(it: Explanation) -> Explanation:
            return it if train is None else replace(it, nearest=matcher.nearest(left, it.right.text, train))

        compared = None if len(right) == 1 else matcher.explain(left, right)
        if compared is not None:
            compared = replace(compared, explanations=tuple(map(beside, compared.explanations)))
        best = beside(matcher.explain(left, right[0])) if compared is None else compared.explanations[0]
        for path in (png, svg):
            if path is not None:
                from pairlight.explain.render.image import picture

                picture(best, path, grid=None if grid is None else grid - 1)
        if html is not None:
            from pairlight.explain.render.html import page

            write_text(html, page([best] if compared is None else compared.explanations))
    if as_json:
        print((best if compared is None else compared).to_json())
        return
    from pairlight.explain.render.terminal import Ranked, Shown

    Console(highlight=False).print(Shown(best) if compared is None else Ranked(compared))
    for path in (png, svg, html):
        if path is not None:
            print(f"Written to {path}")


def _trained_on(source: Path) -> Pairs:
    """The pairs to look for neighbours among; here left and right are texts, so columns can't be named."""
    from pairlight.data.readers import read_pairs

    try:
        return read_pairs(source)[0]
    except InputError as error:
        if "name the one to use" not in str(error):
            raise
        raise InputError(f"--nearest {source} lacks a column left, right or label: rename its columns so.") from None
