"""`pairlight encode`: encode texts once, to rank them for many queries."""

from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli.options import Json, Model, Threads
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.progress import progress_reporter

_SAMPLE, _QUERIES = 1000, 20  # numbers of texts and queries for comparing lower precision with fp32


def encode(
    model: Model,
    texts: Annotated[str, typer.Argument(help="File with one right text per line, or - for standard input.")],
    out: Annotated[Path, typer.Option("--out", help="File to write, for `pairlight rank --encoded`.")],
    dtype: Annotated[str, typer.Option("--dtype", help="fp32, fp16 or int8: 4, 2 or 1 bytes per number.")] = "fp32",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Encode texts once, to rank them for many queries."""
    from pairlight.data.collection import read_collection
    from pairlight.inference.encodings import agreement, check_dtype
    from pairlight.matcher import Matcher

    check_dtype(dtype)
    lines = read_collection(texts).texts
    configure_process(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as reporter:
        encodings = matcher.encode(lines, dtype=dtype, progress=lambda done: reporter.update("Encoding", done))
        encodings.save(out)
        sample = lines[:: max(1, len(lines) // _SAMPLE)][:_SAMPLE]
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
