"""`pairlight demo`: the main job, start to end, on text that comes with a package."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pairlight.cli import common
from pairlight.core.progress import progress_reporter


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")] = Path("demo-model"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Fixes everything that is drawn at random.")] = 1,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Learn which clause completes a sentence of a State of the Union speech."""
    from pairlight.experiments.demo import demo as run
    from pairlight.explain.render.terminal import Shown as Explained

    started = time.perf_counter()
    common.use_threads(threads)
    with progress_reporter() as show:
        common.warnings_as_lines(show)
    shown = run(out, seed)
    seconds = time.perf_counter() - started
    if as_json:
        told = {"results": shown.results, "examples": shown.examples, "page": str(shown.page), "model": str(out)}
        common.print_json(told | {"seconds": round(seconds, 1)})
        return
    print(f"\n{'':10} {'P@1':>7} {'MRR':>7}")
    for name, metrics in shown.results.items():
        print(f"{name:10} {metrics['P@1']:7.3f} {metrics['MRR']:7.3f}")
    for example in shown.examples:
        print(f"\n{example['left']},")
        for each in example["ranked"]:
            print(f"  {'*' if each['right'] else ' '} {each['score']:7.3f}  {each['text']}")
    print("\n(* is the clause that was said.) Why the first one was ranked so:\n")
    Console(highlight=False).print(Explained(shown.why.explanations[0]))
    print(f"\nAll five side by side: open {shown.page} in a browser.")
    print(f"Model saved to {out}, {seconds:.0f} s in all.")
    print(f'Try: pairlight rank {out} "When I look at our country" FILE-WITH-A-CLAUSE-A-LINE')
