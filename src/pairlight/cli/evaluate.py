"""`pairlight evaluate`: evaluate a model on labeled pairs, an index on queries, or a TREC run against qrels."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from pairlight.cli.options import MAX_COUNT, Columns, FirstStage, Json, Threads, with_columns
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.errors import InputError, unknown_name
from pairlight.core.files import write_text
from pairlight.core.progress import progress_reporter

if TYPE_CHECKING:
    from pairlight.data.pairs import Pairs
    from pairlight.evaluation.result import EvaluationResult


@with_columns(folder=True)
def evaluate(
    model: Annotated[
        Path | None, typer.Argument(help="Folder of a saved model, or of an index; not with --run.")
    ] = None,
    data: Annotated[str | None, typer.Argument(help="File of labeled pairs, or a named dataset.")] = None,
    split: Annotated[str, typer.Option("--split", help="Split of a named dataset: train, dev or test.")] = "test",
    task: Annotated[
        str | None, typer.Option("--task", help="ranking or pairs; by default, chosen from the data.")
    ] = None,
    keep_empty: Annotated[
        bool, typer.Option("--keep-empty", help="Count ranking lists without a positive as 0.")
    ] = False,
    run_out: Annotated[Path | None, typer.Option("--write-run", help="Write the scores as a TREC run.")] = None,
    qrels_out: Annotated[Path | None, typer.Option("--write-qrels", help="Write the labels as TREC qrels.")] = None,
    run: Annotated[Path | None, typer.Option("--run", help="Evaluate this TREC run instead of a model.")] = None,
    qrels: Annotated[
        Path | None,
        typer.Option("--qrels", help="TREC qrels for --run; for an index also a table of BEIR, or a BEIR folder."),
    ] = None,
    queries: Annotated[
        str | None, typer.Option("--queries", help="Queries with ids for an index: a table, or a BEIR folder.")
    ] = None,
    first: Annotated[
        int | None,
        typer.Option(
            "--first", min=1, max=MAX_COUNT, help="Number of candidates of an index that are reranked.  [default: 100]"
        ),
    ] = None,
    first_stage: FirstStage = None,
    errors: Annotated[
        Path | None, typer.Option("--errors", help="Write a page (.html) that explains the worst errors.")
    ] = None,
    threads: Threads = None,
    as_json: Json = False,
    *,
    columns: Columns,
) -> None:
    """Evaluate a model on pairs, an index on queries, or a TREC run.

    Pairs are labeled; those of a file without a label column are positives, and negatives are drawn at random. An
    index is evaluated with --queries and --qrels, a run with --run and --qrels.
    """
    from pairlight.search.manifest import is_index

    if model is not None and is_index(model):
        unused = (data, task, run_out, qrels_out, run, errors)
        if any(each is not None for each in unused) or columns != Columns() or split != "test" or keep_empty:
            raise InputError(
                f"{model} is an index, which is evaluated with --queries, --qrels, --first and --first-stage: remove "
                "other options."
            )
        _evaluate_index(model, queries, qrels, first, first_stage, threads, as_json)
        return
    for name, value in (("queries", queries), ("first", first), ("first_stage", first_stage)):
        if value is not None:
            raise InputError("This option is for an index: give the folder of one.", option=name)
    if (run is None) != (qrels is None):
        raise InputError("--run and --qrels are used together: give both, or a model and data.")
    if run is not None and qrels is not None:
        others = (model, data, task, run_out, qrels_out, errors)
        if any(each is not None for each in others) or columns != Columns() or split != "test":
            raise InputError(
                "--run is evaluated without a model and data: remove all other options except --keep-empty and --json."
            )
        from pairlight.evaluation.ranking import evaluate_run
        from pairlight.evaluation.trec import read_qrels, read_run

        _print(evaluate_run(read_qrels(qrels), read_run(run), keep_empty=keep_empty), as_json)
        return
    if model is None or data is None:
        raise InputError("evaluate needs a model folder and data, or --run and --qrels.")
    _check(data, split, task)
    columns.check(data)
    from pairlight.evaluation.evaluate import evaluate_scores
    from pairlight.evaluation.trec import write_qrels, write_run
    from pairlight.matcher import Matcher

    configure_process(threads)
    matcher = Matcher.load(model)
    with progress_reporter() as reporter:
        splits = columns.read_evaluation(data, reporter)
        pairs = splits[split] if split in splits else splits["train"]  # a file has no splits
        reporter.update("Scoring", 0.0)
        scores = matcher.predict(pairs)
        result = evaluate_scores(
            pairs,
            scores,
            task=task,  # type: ignore[arg-type]  # checked above
            threshold=matcher.threshold,
            keep_empty=keep_empty,
        )
        if keep_empty and result.task == "pairs":
            raise InputError(
                "This option is for ranking lists, and these are labeled pairs: remove it.", option="keep_empty"
            )
        query_ids, document_ids = _ids(pairs)
        if run_out is not None:
            write_run(run_out, query_ids, document_ids, scores)
        if qrels_out is not None:
            write_qrels(qrels_out, query_ids, document_ids, pairs.labels)
        if errors is not None:
            from pairlight.explain.error_analysis import error_analysis
            from pairlight.explain.render.html import report_page

            cases = error_analysis(
                matcher.scorer,
                pairs,
                scores=scores,
                task=result.task,
                calibration=matcher.calibration,
                progress=lambda done: reporter.update("Explaining errors", done),
            )
            write_text(errors, report_page(f"The worst errors of {matcher.name} on {data}", cases))
            reporter.say(f"The {len(cases)} worst errors are in {errors}")
    _print(result, as_json)


def _evaluate_index(
    folder: Path,
    queries: str | None,
    qrels: Path | None,
    first: int | None,
    first_stage: str | None,
    threads: int | None,
    as_json: bool,
) -> None:
    from pairlight.search.documents import read_queries, read_relevance
    from pairlight.search.evaluate import evaluate_index
    from pairlight.search.index import Index
    from pairlight.search.searcher import FIRST

    if queries is None or (qrels is None and not Path(queries).is_dir()):
        raise InputError("An index is evaluated on queries with judgments: give --queries and --qrels.")
    configure_process(threads)
    asked, relevance = read_queries(queries), read_relevance(queries if qrels is None else qrels)
    with Index.open(folder) as index, progress_reporter() as reporter:
        result = evaluate_index(
            index,
            asked,
            relevance,
            first=first or FIRST,
            first_stage=first_stage,
            progress=lambda done: reporter.update("Searching", done),
        )
    if as_json:
        print_json(result.as_dict())
        return
    print(f"{'':12} recall@{result.first:<4} MRR@10  nDCG@10")
    for name, metrics in result.stages.items():
        print(f"{name:12} {metrics.recall:8.4f}   {metrics.mrr:7.4f}  {metrics.ndcg:7.4f}")
    print(f"({result.queries:,} queries; {result.p50:.1f} ms per query, 99 % within {result.p99:.1f} ms)")


def _check(data: str, split: str, task: str | None) -> None:
    from pairlight.data.splits import SPLITS
    from pairlight.datasets.catalog import DATASETS
    from pairlight.evaluation.metrics import TaskType

    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS, option="split")
    if split != "test" and data not in DATASETS:
        raise InputError(f"This option is for named datasets, and {data} is not one: remove it.", option="split")
    if task is not None and task not in get_args(TaskType):
        raise unknown_name("task", task, get_args(TaskType), option="task")


def _ids(pairs: "Pairs") -> tuple[list[str], list[str]]:
    """Ids of queries and documents for TREC files: those of the pairs, else numbers."""
    queries = pairs.left_id or [f"q{group}" for group in pairs.group]
    return queries, pairs.right_id or [f"d{row}" for row in range(len(pairs))]


def _print(result: "EvaluationResult", as_json: bool) -> None:
    if as_json:
        print_json(result.as_dict())
        return
    for name, value in result.metrics.items():
        print(f"{name:8} {value:.4f}")
    print(f"({result.counted:,} {'lists' if result.task == 'ranking' else 'pairs'})")
    for note in result.notes:
        print(f"({note})")
