"""`pairlight encode`: encode texts once, to rank them for many queries."""

from typing import Annotated

import typer

from pairlight.cli.blocks import run_blocks
from pairlight.cli.options import Cluster, IdColumn, Json, Model, TextColumn, Threads, check_not_input, read_texts
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.progress import progress_reporter

_SAMPLE, _QUERIES = 1000, 20  # numbers of texts and queries for comparing lower precision with fp32


def encode(
    model: Model,
    texts: Annotated[
        str,
        typer.Argument(
            help="Right texts: a table (.tsv, .csv, .jsonl, .parquet), a file of lines, - for standard input, or "
            "Parquet files: a folder, a glob or a URL."
        ),
    ],
    out: Annotated[
        str,
        typer.Option("--out", help="File to write, for `pairlight rank --encoded`; a folder for Parquet files."),
    ],
    dtype: Annotated[str, typer.Option("--dtype", help="fp32, fp16 or int8: 4, 2 or 1 bytes per number.")] = "fp32",
    text: TextColumn = "text",
    id: IdColumn = "id",
    cluster: Cluster = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Encode texts once, to rank them for many queries.

    Parquet files in a folder are encoded block by block, each into a file of its own. Run the same command again to
    continue after it was stopped.
    """
    from pairlight.batch.encode import EncodeJob
    from pairlight.core.storage import is_folder
    from pairlight.data.blocks import plan_blocks
    from pairlight.data.columns import Column, TableColumns
    from pairlight.inference.agreement import agreement
    from pairlight.inference.encodings import check_dtype
    from pairlight.matcher import Matcher

    check_dtype(dtype)
    check_not_input(out, texts)
    configure_process(threads)
    if cluster is not None or is_folder(texts):
        columns = TableColumns([Column("text", text), Column("id", id, required=id != "id")])
        blocks = plan_blocks(texts, columns)
        job = EncodeJob(str(model), out, dtype, columns.used["text"], columns.used.get("id"))
        run_blocks(job, blocks, cluster, as_json, "Encoded {:,} texts to " + out)
        return
    with progress_reporter() as reporter:
        collection = read_texts(texts, text, id, reporter)
        matcher = Matcher.load(model)
        encodings = matcher.encode(collection, dtype=dtype, progress=lambda done: reporter.update("Encoding", done))
        encodings.save(out)
        sample = collection.texts[:: max(1, len(collection) // _SAMPLE)][:_SAMPLE]
        agreed = None
        if dtype != "fp32" and len(sample) > 1:
            agreed = agreement(matcher.scorer, matcher.encode(sample), sample[:_QUERIES], dtype)
    if as_json:
        print_json(
            {
                "texts": len(encodings),
                "dtype": dtype,
                "bytes_per_text": encodings.bytes_per_text,
                "agreement": None if agreed is None else vars(agreed),
            }
        )
        return
    print(f"Encoded {len(encodings):,} texts to {out}: {encodings.bytes_per_text / 1000:.1f} kB per text")
    if agreed is not None:
        print(
            f"Agreement with fp32: rank correlation {agreed.spearman:.4f}, {agreed.top:.0%} of the ten best texts are "
            f"the same ({agreed.queries} queries, {agreed.texts:,} texts)"
        )
