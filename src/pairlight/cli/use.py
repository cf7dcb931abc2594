"""`pairlight evaluate`, `score`, `rank`, `encode`: a saved model at work."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairlight.cli import common
from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.core.progress import progress_reporter
from pairlight.datasets.catalogue import SETS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE, QUERIES = 1000, 20  # texts, and of these queries, that the rank correlation is taken from

Model = Annotated[Path, typer.Argument(help="Folder of a saved model.")]


def evaluate(
    model: Annotated[Path | None, typer.Argument(help="Folder of a saved model; leave out with --run.")] = None,
    data: Annotated[
        str | None, typer.Argument(help="A file of labelled pairs, or a named set (its test part).")
    ] = None,
    part: Annotated[str, typer.Option("--part", help="Which part of a named set: train, dev or test.")] = "test",
    left: common.Left = "left",
    right: common.Right = "right",
    label: common.Label = "label",
    left_id: common.LeftId = "left_id",
    right_id: common.RightId = "right_id",
    skip_bad_rows: common.SkipBadRows = False,
    folder: common.Folder = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="ranking or pairs; by default as the data calls for.")
    ] = None,
    keep_empty: Annotated[bool, typer.Option("--keep-empty", help="Lists without a right answer count as 0.")] = False,
    run_out: Annotated[Path | None, typer.Option("--write-run", help="Write the scores as a TREC run.")] = None,
    qrels_out: Annotated[Path | None, typer.Option("--write-qrels", help="Write the labels as TREC qrels.")] = None,
    run: Annotated[Path | None, typer.Option("--run", help="Measure this TREC run instead of a model.")] = None,
    qrels: Annotated[Path | None, typer.Option("--qrels", help="The TREC qrels to measure the run by.")] = None,
    errors: Annotated[
        Path | None, typer.Option("--errors", help="Write a page of the worst mistakes, explained, here (.html).")
    ] = None,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Measure a model on labelled pairs, or a TREC run by its qrels."""
    if (run is None) != (qrels is None):
        raise InputError("--run and --qrels go together: give both, or a model and data.")
    if run is not None and errors is not None:
        raise InputError("--errors explains a model, and a run has none: give a model folder and data.")
    columns = common.Columns(left, right, label, left_id, right_id, skip_bad_rows)
    if run is not None and (
        any(each is not None for each in (model, data, kind, run_out, qrels_out, folder))
        or columns != common.Columns()
        or part != "test"
    ):
        raise InputError(
            "--run is measured without a model and data: of the other options, leave all but --qrels, "
            "--keep-empty and --json out."
        )
    if run is not None and qrels is not None:
        from pairlight.evaluation.ranking import evaluate_run
        from pairlight.evaluation.trec import read_qrels, read_run

        result = evaluate_run(read_qrels(qrels), read_run(run), keep_empty=keep_empty)
    else:
        if model is None or data is None:
            raise InputError("evaluate needs a model folder and data, or --run and --qrels.")
        if part not in ("train", "dev", "test"):
            raise InputError(f"--part {part!r} is none of train, dev, test.")
        if part != "test" and data not in SETS:
            raise InputError(f"--part is for named sets, and {data} is none: leave --part out.")
        if kind not in (None, "ranking", "pairs"):
            raise InputError(f"--kind {kind!r} is none of ranking, pairs.")
        columns.check([data], folder)
        from pairlight.evaluation.evaluate import evaluate_scores
        from pairlight.evaluation.trec import write_qrels, write_run
        from pairlight.matcher import Matcher

        common.use_threads(threads)
        matcher = Matcher.load(model)
        with progress_reporter() as show:
            common.warnings_as_lines(show)
            pairs = columns.part(data, part, folder, show)
            scores = matcher.predict(pairs)
        threshold = None if matcher.calibration is None else matcher.calibration.threshold
        result = evaluate_scores(pairs, scores, kind=kind, threshold=threshold, keep_empty=keep_empty)  # type: ignore[arg-type]
        if keep_empty and result.kind == "pairs":
            raise InputError("--keep-empty is for ranking lists, and these are labelled pairs: leave it out.")
        queries, documents = _ids(pairs)
        if run_out is not None:
            write_run(run_out, queries, documents, scores)
        if qrels_out is not None and pairs.label is not None:
            write_qrels(qrels_out, queries, documents, pairs.label)
        if errors is not None:
            from pairlight.explain.error_analysis import mistakes
            from pairlight.explain.render.html import report

            with progress_reporter() as show:
                found = mistakes(
                    matcher,
                    pairs,
                    scores=scores,
                    kind=result.kind,
                    progress=lambda done: show.share("Explaining mistakes", done),
                )
                write_text(errors, report(f"The worst mistakes of {matcher.name} on {data}", found))
                show.say(f"The {len(found)} worst mistakes are in {errors}")
    if as_json:
        common.print_json(result.as_dict())
        return
    for name, value in result.metrics.items():
        print(f"{name:8} {value:.4f}")
    print(f"({result.counted:,} {'lists' if result.kind == 'ranking' else 'pairs'})")
    for note in result.notes:
        print(f"({note})")


def score(
    model: Model,
    pairs: Annotated[str, typer.Argument(help="A file of pairs; labels are not needed.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write here (.tsv, .csv or .jsonl), else print TSV.")
    ] = None,
    probability: Annotated[bool, typer.Option("--probability", help="Add the calibrated probability.")] = False,
    left: common.Left = "left",
    right: common.Right = "right",
    left_id: common.LeftId = "left_id",
    right_id: common.RightId = "right_id",
    skip_bad_rows: common.SkipBadRows = False,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Score every pair of a file, in its order."""
    form = "jsonl" if as_json else "tsv"
    if out is not None:
        if as_json:
            raise InputError(f"--json prints scores and --out {out} writes them: give one of the two.")
        form = out.suffix.lstrip(".")
        if form not in ("tsv", "csv", "jsonl"):
            raise InputError(f"--out {out} has no known ending: use .tsv, .csv or .jsonl.")
    from pairlight.matcher import Matcher

    common.use_threads(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        columns = common.Columns(left, right, left_id=left_id, right_id=right_id, skip_bad_rows=skip_bad_rows)
        table = columns.read(pairs, show, need_label=False)
        scores = matcher.predict(table)
        chances = matcher.predict(table, as_probability=True) if probability else None
    text = "".join(_lines(table, scores, chances, form))
    if out is None:
        sys.stdout.write(text)
        return
    write_text(out, text)
    print(f"Scored {len(table):,} pairs to {out}")


def rank(
    model: Model,
    query: Annotated[str, typer.Argument(help="The left text.")],
    documents: Annotated[
        str | None,
        typer.Argument(help="A file with one right text a line (empty ones do not count), or - for standard input."),
    ] = None,
    encoded: Annotated[
        Path | None, typer.Option("--encoded", help="A file of `pairlight encode` in place of the texts.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many to show.")] = 10,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Rank the lines of a file, or texts encoded before, by how well they match a text."""
    if (documents is None) == (encoded is None):
        raise InputError("rank needs a file of texts, or --encoded with one of encodings: give one of the two.")
    texts = None if documents is None else _documents(documents)
    from pairlight.inference.encodings import Encodings
    from pairlight.matcher import Matcher

    common.use_threads(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        ranked = Encodings.load(encoded) if encoded is not None else texts or []
        found = matcher.rank(query, ranked, top_k=top, return_documents=True)
    if as_json:
        common.print_json(found)
        return
    for place, each in enumerate(found, 1):
        print(f"{place:3}  {each['score']:8.4f}  {each['text']}")


def encode(
    model: Model,
    texts: Annotated[
        str,
        typer.Argument(help="A file with one right text a line (empty ones do not count), or - for standard input."),
    ],
    out: Annotated[Path, typer.Option("--out", help="The file to write, for `pairlight rank --encoded`.")],
    dtype: Annotated[str, typer.Option("--dtype", help="fp32, fp16 or int8: 4, 2 or 1 bytes a number.")] = "fp32",
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Read texts once, to rank them again and again."""
    lines = _documents(texts)
    from pairlight.inference.encodings import agreement, check_dtype
    from pairlight.matcher import Matcher

    check_dtype(dtype)
    common.use_threads(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
        encodings = matcher.encode(lines, dtype=dtype, progress=lambda done: show.share("Encoding", done))
        encodings.save(out)
        sample = lines[:: max(1, len(lines) // SAMPLE)][:SAMPLE]
        agreed = None
        if dtype != "fp32" and len(sample) > 1:
            agreed = agreement(matcher, matcher.encode(sample), sample[:QUERIES], dtype)
    if as_json:
        common.print_json(
            {
                "texts": len(encodings),
                "dtype": dtype,
                "bytes_a_text": encodings.bytes_a_text,
                "spearman": None if agreed is None else agreed.spearman,
                "top_10": None if agreed is None else agreed.top,
            }
        )
        return
    print(f"TokenizedTexts {len(encodings):,} texts to {out}: {encodings.bytes_a_text / 1000:.1f} kB a text")
    if agreed is not None:
        print(
            f"Rank correlation with fp32 {agreed.spearman:.4f}, {agreed.top:.0%} of the ten best the same "
            f"({agreed.texts:,} of the texts, {agreed.queries} of them as queries)"
        )


def _documents(source: str) -> list[str]:
    try:
        text = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        lines = [line.strip() for line in text.decode("utf-8-sig").split("\n")]  # splitlines has other ends too
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8 at byte {error.start}: convert it first.") from None
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{source}: {error.strerror}. Give a file with one text a line.") from None
    lines = [line for line in lines if line]
    if not lines:
        raise InputError(f"{source} has no text: give one a line.")
    return lines


def _ids(pairs: Pairs) -> tuple[list[str], list[str]]:
    """Names for queries and documents: the user's where there are some, else numbers."""
    queries = pairs.left_id or [f"q{group}" for group in pairs.group]
    return queries, pairs.right_id or [f"d{row}" for row in range(len(pairs))]


def _lines(
    pairs: Pairs, scores: "NDArray[np.float32]", chances: "NDArray[np.float32] | None", form: str
) -> Iterator[str]:
    ids = {name: column for name in ("left_id", "right_id") if (column := getattr(pairs, name)) is not None}
    names = [*ids, "left", "right", "score"] + ([] if chances is None else ["probability"])
    if form != "jsonl":
        yield _row(names, form)
    for i in range(len(pairs)):
        numbers = [float(scores[i])] + ([] if chances is None else [float(chances[i])])
        own = [column[i] for column in ids.values()]
        values = [*own, pairs.texts[pairs.left[i]], pairs.texts[pairs.right[i]], *numbers]
        if form == "jsonl":
            yield json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n"
        else:
            yield _row([value if isinstance(value, str) else f"{value:.7g}" for value in values], form)


def _row(values: list[str], form: str) -> str:
    if form == "tsv":
        return "\t".join(" ".join(value.split()) for value in values) + "\n"
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()
