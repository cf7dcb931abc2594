"""`pairlight encode`: encode texts once, to rank them for many queries."""

from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli.options import IdColumn, Json, Model, TextColumn, Threads, check_not_input, read_texts
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.progress import progress_reporter

_SAMPLE, _QUERIES = 1000, 20  # numbers of texts and queries for comparing lower precision with fp32


def encode(
    model: Model,
    texts: Annotated[
        str,
        typer.Argument(
            help="Right texts: a table (.tsv, .csv, .jsonl, .parquet), a file of lines, or - for standard input."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="File to write, for `pairlight rank --encoded`.")],
    dtype: Annotated[str, typer.Option("--dtype", help="fp32, fp16 or int8: 4, 2 or 1 bytes per number.")] = "fp32",
    text: TextColumn = "text",
    id: IdColumn = "id",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Encode texts once, to rank them for many queries."""
    from pairlight.inference.encodings import agreement, check_dtype
    from pairlight.matcher import Matcher

    check_dtype(dtype)
    check_not_input(out, texts)
    configure_process(threads)
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
