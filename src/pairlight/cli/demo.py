"""`pairlight demo`: train, evaluate and explain a model on text that comes with a package."""

import time
from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli.options import MAX_SEED, Json, Threads
from pairlight.cli.output import print_json
from pairlight.cli.process import configure_process
from pairlight.core.progress import progress_reporter


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")] = Path("demo-model"),
    seed: Annotated[int, typer.Option("--seed", min=0, max=MAX_SEED, help="Seed of everything random.")] = 1,
    serve: Annotated[
        bool, typer.Option("--serve", help="Index the demo's sentences and open the search page, without training.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port of --serve; 0 chooses a free one.")
    ] = 8080,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Rank with a ready-made model, then train and explain one.

    It learns which clause of a State of the Union speech completes a sentence.
    """
    if serve:
        raise typer.Exit(_serve(out, port))
    from pairlight.experiments.demo import run_demo

    started = time.perf_counter()
    configure_process(threads)
    with progress_reporter() as reporter:
        result = run_demo(out, seed, reporter)
    seconds = time.perf_counter() - started
    if as_json:
        print_json(result.as_dict() | {"model": str(out), "seconds": round(seconds, 1)})
        return
    from rich.console import Console

    from pairlight.explain.render.terminal import ExplanationView

    print(f"\nWithout training, the ready-made model qa-small ranks answers to {result.ranked.left!r}:")
    for candidate in result.ranked.candidates:
        print(f"    {candidate.score:7.3f}  {candidate.text}")
    print(f"\nTrained on sentences of speeches:\n\n{'':16} {'P@1':>7} {'MRR':>7}")
    for name, metrics in result.results.items():
        print(f"{name:16} {metrics['P@1']:7.3f} {metrics['MRR']:7.3f}")
    for example in result.examples:
        print(f"\n{example.left},")
        for candidate in example.candidates:
            print(f"  {'*' if candidate.positive else ' '} {candidate.score:7.3f}  {candidate.text}")
    print("\n(* marks the clause of the speech.) Why the first clause of the first list is ranked first:\n")
    Console(highlight=False).print(ExplanationView(result.comparison.explanations[0]))
    print(f"\nTo see the explanations of all five clauses, open {result.page} in a browser.")
    print(f"The model is saved to {out}. The demo took {seconds:.0f} s.")
    print(f'Try: pairlight rank {out} "When I look at our country" FILE-WITH-ONE-CLAUSE-PER-LINE')
    print("Search the demo's sentences in a browser: pairlight demo --serve. From your own file to a search page:")
    print("    pip install '.[search,serve]'")
    print("    pairlight index documents.csv --out my-index")
    print("    pairlight serve --index my-index        # then open http://127.0.0.1:8080")


def _serve(out: Path, port: int) -> int:
    """Serve an index of the demo's sentences, with the model of an earlier demo next to qa-small where there is one."""
    import webbrowser

    from pairlight.serve.installed import check_installed

    check_installed()
    from pairlight.experiments.demo import READY_MADE, index_demo, is_demo
    from pairlight.serve.server import serve
    from pairlight.serve.settings import ServerSettings

    folder = out.with_name(f"{out.name}-index")
    with progress_reporter() as reporter:
        reporter.say(f"Indexed {index_demo(folder, reporter):,} sentences into {folder}.")
    models = (READY_MADE, out) if is_demo(out) else (READY_MADE,)
    return serve(ServerSettings(models, folder, port=port), webbrowser.open)
