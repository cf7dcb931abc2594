"""`pairlight rank`: rank texts by how well they match a query."""

from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli.options import MAX_COUNT, IdColumn, Json, Model, TextColumn, Threads, read_texts
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.progress import progress_reporter
from pairlight.core.terminal import printable_line


def rank(
    model: Model,
    query: Annotated[str, typer.Argument(help="The left text.")],
    documents: Annotated[
        str | None,
        typer.Argument(
            help="Right texts: a table (.tsv, .csv, .jsonl, .parquet), a file of lines, or - for standard input."
        ),
    ] = None,
    encoded: Annotated[
        Path | None,
        typer.Option("--encoded", help="Rank the texts in this file or folder, written by `pairlight encode`."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare the whole file of encodings with its checksums before ranking.")
    ] = False,
    text: TextColumn = "text",
    id: IdColumn = "id",
    top: Annotated[int, typer.Option("--top", min=1, max=MAX_COUNT, help="Number of texts to print.")] = 10,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Rank texts by how well they match a query."""
    if (documents is None) == (encoded is None):
        raise InputError("rank needs a file of texts, or --encoded with a file of encodings: give one of the two.")
    if encoded is not None and (text, id) != ("text", "id"):
        raise InputError(f"{encoded} has no columns: remove this option.", option="text" if text != "text" else "id")
    if verify and encoded is None:
        raise InputError("There is no file of encodings to compare: give --encoded too.", option="verify")
    with progress_reporter() as reporter:
        texts = None if documents is None else read_texts(documents, text, id, reporter)
        from pairlight.inference.encodings import Encodings
        from pairlight.matcher import Matcher

        configure_process(threads)
        matcher = Matcher.load(model)
        reporter.update("Ranking", 0.0)
        if encoded is not None and encoded.is_dir():
            from pairlight.batch.encode import rank_encoded

            ranked = rank_encoded(matcher, query, encoded, top, verify=verify)
        else:
            stored = None if encoded is None else Encodings.load(encoded, verify=verify)
            ranked = matcher.rank(query, stored or texts or [], top_k=top, return_documents=True)
    if as_json:
        print_json(ranked)
        return
    width = max((len(each["id"]) for each in ranked if "id" in each), default=0)
    for position, each in enumerate(ranked, 1):
        shown_id = f"{each['id']:{width}}  " if "id" in each else ""
        print(f"{position:3}  {each['score']:8.4f}  {printable_line(shown_id + each['text'])}")
