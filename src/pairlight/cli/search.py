"""`pairlight search`: find the documents of an index that match a query best."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairlight.cli.options import MAX_COUNT, FirstStage, Json, Threads
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.terminal import printable_line

if TYPE_CHECKING:
    from pairlight.explain.data import Explanation
    from pairlight.search.index import Index
    from pairlight.search.results import SearchResults


def search(
    index: Annotated[Path, typer.Argument(help="Folder of an index, made by `pairlight index`.")],
    query: Annotated[str, typer.Argument(help="What to search for.")],
    top: Annotated[int, typer.Option("--top", min=1, max=MAX_COUNT, help="Number of results.")] = 10,
    first: Annotated[
        int, typer.Option("--first", min=1, max=MAX_COUNT, help="Number of candidates that are reranked.")
    ] = 100,
    first_stage: FirstStage = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Only documents with this field, as lang=en; may be repeated."),
    ] = None,
    offset: Annotated[int, typer.Option("--offset", min=0, max=MAX_COUNT, help="Number of results to skip.")] = 0,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Lowest model score of a result; by default that of `pairlight index tune`."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain why the first result matches.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare all files of the index with their checksums before searching.")
    ] = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Find the documents of an index that match a query best."""
    from pairlight.layers.backends import prefer_backend
    from pairlight.search.index import Index

    with prefer_backend("torch" if explain else "numpy"):  # explanations have gradients
        configure_process(threads)
        with Index.open(index) as opened:
            if verify:
                opened.check()
            results = opened.search(query, top, first, parse_where(where), offset, threshold, first_stage)
            explained = _explain(opened, results) if explain else None
    if as_json:
        print_json(
            results.as_dict() | ({"explanation": None if explained is None else explained.as_dict()} if explain else {})
        )
        return
    _print(results, offset)
    if explained is not None:
        from rich.console import Console

        from pairlight.explain.render.terminal import ExplanationView

        Console(highlight=False).print(ExplanationView(explained))


def _explain(index: "Index", results: "SearchResults") -> "Explanation | None":
    """Why the first result matches, None where there is no result."""
    if index.matcher is None:
        raise InputError(f"{index.folder} has no model to explain: index the documents with one.", option="explain")
    return index.matcher.explain(results.query, results[0].passage.text) if len(results) else None


def parse_where(pairs: list[str] | None) -> dict[str, list[str]]:
    """Filters by field: a field that is given more than once may have any of its values."""
    where: dict[str, list[str]] = {}
    for pair in pairs or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InputError(f"{pair!r} is not of the form field=value: write for example lang=en.", option="where")
        where.setdefault(name, []).append(value)
    return where


def _print(results: "SearchResults", offset: int) -> None:
    if not len(results):
        print("No answer.")
    width = max((len(hit.id) for hit in results), default=0)
    for position, hit in enumerate(results, offset + 1):
        model = "" if hit.model_score is None else f"{hit.model_score:8.4f} "
        shown = printable_line(f"{hit.id:{width}}  {hit.passage.text}")
        print(f"{position:3}  {hit.score:8.4f} {model}{hit.first_score:8.4f}  {shown}")
    seconds = results.seconds
    print(
        f"({results.candidates} candidates; first stage {1000 * seconds.first_stage:.1f} ms, "
        f"rerank {1000 * seconds.rerank:.1f} ms)"
    )
    for warning in results.warnings:
        print(f"({warning})")
