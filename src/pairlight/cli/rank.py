"""`pairlight rank`: rank texts by how well they match a query."""

from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli.options import Json, Model, Threads
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError


def rank(
    model: Model,
    query: Annotated[str, typer.Argument(help="The left text.")],
    documents: Annotated[
        str | None, typer.Argument(help="File with one right text per line, or - for standard input.")
    ] = None,
    encoded: Annotated[
        Path | None, typer.Option("--encoded", help="Rank the texts in this file, written by `pairlight encode`.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of texts to print.")] = 10,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Rank texts by how well they match a query."""
    from pairlight.data.collection import read_collection

    if (documents is None) == (encoded is None):
        raise InputError("rank needs a file of texts, or --encoded with a file of encodings: give one of the two.")
    texts = [] if documents is None else read_collection(documents).texts
    from pairlight.inference.encodings import Encodings
    from pairlight.matcher import Matcher

    configure_process(threads)
    matcher = Matcher.load(model)
    ranked = matcher.rank(
        query, texts if encoded is None else Encodings.load(encoded), top_k=top, return_documents=True
    )
    if as_json:
        print_json(ranked)
        return
    for position, each in enumerate(ranked, 1):
        print(f"{position:3}  {each['score']:8.4f}  {each['text']}")
