"""`pairlight index`: index documents to search them, and change or tune an index."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from pairlight.cli.blocks import run_blocks
from pairlight.cli.command import LightCommand
from pairlight.cli.options import MAX_COUNT, Cluster, Json, Overwrite, Threads
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError
from pairlight.core.files import sha256_of
from pairlight.core.progress import ProgressReporter, progress_reporter

if TYPE_CHECKING:
    from pairlight.search.documents import Document
    from pairlight.search.index import Index

NO_MODEL = "none"
INTERRUPTED = 130  # exit code


class IndexGroup(TyperGroup):
    """Without the name of a command, `pairlight index DOCS --out IDX` creates an index."""

    default_command = "create"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args = [self.default_command, *args]
        return super().parse_args(ctx, args)


index = typer.Typer(
    cls=IndexGroup,
    help="Index documents to search them, and change or tune an index.\n\nThe name `create` can be left out: "
    "pairlight index DOCS --out IDX.",
    no_args_is_help=True,
)

IndexFolder = Annotated[Path, typer.Argument(help="Folder of the index.")]
Documents = Annotated[
    str,
    typer.Argument(
        help="Documents: a table (.tsv, .csv, .jsonl, .parquet), a BEIR folder, a file of lines, - for standard input, "
        "or Parquet files: a folder, a glob or a URL. All columns are kept."
    ),
]
Text = Annotated[str, typer.Option("--text", help="Column of the texts.")]
Id = Annotated[str, typer.Option("--id", help="Column of the ids; without one, the number of the row.")]
Title = Annotated[str, typer.Option("--title", help="Column of titles, which are put before the texts.")]
Header = Annotated[
    str | None, typer.Option("--header", help="Column names separated by commas, for a file without a header line.")
]


@index.command("create", cls=LightCommand)
def create(
    documents: Documents,
    out: Annotated[Path, typer.Option("--out", help="Folder of the new index.")],
    model: Annotated[
        str, typer.Option("--model", help="Model that reranks: a folder, a ready-made model, or none.")
    ] = "qa-small",
    first_stage: Annotated[
        str, typer.Option("--first-stage", help="bm25, vectors or hybrid, which merges both.")
    ] = "hybrid",
    language: Annotated[
        str,
        typer.Option("--language", help="Language of the texts, such as en, de or zh; any for no stemming."),
    ] = "en",
    text: Text = "text",
    id: Id = "id",
    title: Title = "title",
    header: Header = None,
    cluster: Cluster = None,
    overwrite: Overwrite = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Index documents to search them.

    Parquet files in a folder are indexed in shards of a million documents, which are searched as one. Run the same
    command again to continue after it was stopped.
    """
    from pairlight.core.storage import is_folder
    from pairlight.search.documents import BEIR_CORPUS
    from pairlight.search.index import Index

    configure_process(threads)
    reranker = None if model == NO_MODEL else model
    if cluster is not None or (is_folder(documents) and not Path(documents, BEIR_CORPUS).is_file()):
        _create_shards(documents, out, reranker, first_stage, language, (text, id, title), cluster, as_json)
        return
    source = None if documents == "-" else sha256_of(Path(documents))
    with progress_reporter() as reporter:
        try:
            made = Index.create(
                out,
                _read(documents, text, id, title, header),
                model=reranker,
                first_stage=first_stage,
                language=language,
                overwrite=overwrite,
                source=None if source is None else f"{source} {text} {id} {title} {header}",
                progress=_counter(reporter),
            )
        except KeyboardInterrupt:
            reporter.say("Interrupted: run the same command again to continue.")
            raise typer.Exit(INTERRUPTED) from None
        made.close()
    _print(made, {"documents": len(made)}, f"Indexed {len(made):,} documents into {out}", as_json)


def _create_shards(
    documents: str,
    out: Path,
    model: str | None,
    first_stage: str,
    language: str,
    names: tuple[str, str, str],
    cluster: str | None,
    as_json: bool,
) -> None:
    from pairlight.batch.index import ROWS, IndexJob, index_columns, join_shards
    from pairlight.data.blocks import plan_blocks
    from pairlight.search.document_encodings import stores_encodings
    from pairlight.search.index import model_name
    from pairlight.search.manifest import Manifest

    reranker = model_name(model)
    Manifest(first_stage, language, reranker).check()
    columns = index_columns(*names)
    blocks = plan_blocks(documents, columns, ROWS)
    used = columns.used
    encoder = reranker if stores_encodings(reranker) else None
    job = IndexJob(str(out.resolve()), first_stage, language, used["text"], used["id"], used.get("title"), encoder)
    run_blocks(job, blocks, cluster, as_json, f"Indexed {{:,}} documents into {out}, in {len(blocks):,} shards")
    join_shards(job.out, blocks, job, reranker)


def _writing_command(action: str) -> Callable[..., None]:
    """The command that adds or updates documents: both take the same files."""

    def write(
        folder: IndexFolder,
        documents: Documents,
        text: Text = "text",
        id: Id = "id",
        title: Title = "title",
        header: Header = None,
        as_json: Json = False,
    ) -> None:
        from pairlight.search.index import Index

        with Index.open(folder) as opened, progress_reporter() as reporter:
            change = opened.add if action == "add" else opened.update
            done = change(_read(documents, text, id, title, header), progress=_counter(reporter))
        said = f"{'Added' if action == 'add' else 'Updated'} {done:,} documents: {len(opened):,} are in {folder}"
        _print(opened, {"documents": len(opened), action: done}, said, as_json)

    return write


index.command("add", cls=LightCommand, help="Add documents with new ids to an index.")(_writing_command("add"))
index.command("update", cls=LightCommand, help="Replace documents of an index by their ids; new ids are added.")(
    _writing_command("update")
)


@index.command("delete", cls=LightCommand)
def delete(
    folder: IndexFolder,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="File of ids, one per line.")] = None,
    as_json: Json = False,
) -> None:
    """Delete documents from an index by their ids."""
    from pairlight.data.collection import read_collection
    from pairlight.search.index import Index

    if (file is None) == (not ids):
        raise InputError("delete needs ids, or --file with a file of ids: give one of the two.")
    wanted = list(ids or []) if file is None else read_collection(file).texts
    with Index.open(folder) as opened:
        deleted = opened.delete(wanted)
    missing = len(set(wanted)) - deleted
    note = f" ({missing:,} were not there)" if missing else ""
    _print(opened, {"deleted": deleted, "missing": missing}, f"Deleted {deleted:,} documents{note}", as_json)


@index.command("tune", cls=LightCommand)
def tune(
    folder: IndexFolder,
    queries: Annotated[str, typer.Option("--queries", help="Dev queries with ids, or a BEIR folder.")],
    qrels: Annotated[
        str | None, typer.Option("--qrels", help="TREC qrels, or a table of BEIR; by default in the BEIR folder.")
    ] = None,
    first: Annotated[
        int, typer.Option("--first", min=1, max=MAX_COUNT, help="Number of candidates that are reranked.")
    ] = 100,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Learn the blend and the threshold on dev queries.

    The blend is how much the model counts next to the first stage. Results whose model score is below the threshold
    are not answers.
    """
    from pairlight.search.documents import read_queries, read_relevance
    from pairlight.search.evaluate import tune_index
    from pairlight.search.index import Index

    configure_process(threads)
    asked, relevance = read_queries(queries), read_relevance(queries if qrels is None else qrels)
    with Index.open(folder) as opened, progress_reporter() as reporter:
        tuned = tune_index(
            opened, asked, relevance, first=first, progress=lambda done: reporter.update("Searching", done)
        )
    if as_json:
        print_json({**vars(tuned), "mrr": {str(weight): value for weight, value in tuned.mrr.items()}})
        return
    print(f"Weight of the model {tuned.weight:g}: MRR@10 {tuned.mrr[tuned.weight]:.4f} on {tuned.queries:,} queries")
    print(f"The first stage alone has {tuned.mrr[0.0]:.4f}, the model alone {tuned.mrr[1.0]:.4f}")
    if tuned.threshold is not None:
        print(f"Threshold {tuned.threshold:.4f}: hits with a lower model score are not answers")
    print(f"Saved to {folder}")


def _read(documents: str, text: str, id: str, title: str, header: str | None) -> "Iterator[Document]":
    from pairlight.search.documents import read_documents

    names = None if header is None else [name.strip() for name in header.split(",")]
    return read_documents(documents, text=text, id=id, title=title, header=names)


def _counter(reporter: ProgressReporter) -> Callable[[int], None]:
    return lambda done: reporter.update("Indexing", 0.0, f"{done:,} documents")


def _print(made: "Index", values: dict[str, Any], line: str, as_json: bool) -> None:
    if as_json:
        print_json({"index": str(made.folder), **values})
    else:
        print(line)
