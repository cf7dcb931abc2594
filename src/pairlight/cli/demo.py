"""`pairlight demo`: the main job, start to end, on text that comes with a package."""

import time
from pathlib import Path
from typing import Annotated

import typer

from pairlight.cli import common


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")] = Path("demo-model"),
    seed: Annotated[int, typer.Option("--seed", help="Fixes everything that is drawn at random.")] = 1,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Learn which clause completes a sentence of a State of the Union speech."""
    from pairlight.demo import demo as run

    started = time.perf_counter()
    common.use_threads(threads)
    results, examples, _ = run(out, seed)
    seconds = time.perf_counter() - started
    if as_json:
        common.print_json({"results": results, "examples": examples, "model": str(out), "seconds": round(seconds, 1)})
        return
    print(f"\n{'':10} {'P@1':>7} {'MRR':>7}")
    for name, metrics in results.items():
        print(f"{name:10} {metrics['P@1']:7.3f} {metrics['MRR']:7.3f}")
    for example in examples:
        print(f"\n{example['left']},")
        for each in example["ranked"]:
            print(f"  {'*' if each['right'] else ' '} {each['score']:7.3f}  {each['text']}")
    print(f"\n(* is the clause that was said.) Model saved to {out}, {seconds:.0f} s in all.")
    print(f'Try: pairlight rank {out} "When I look at our country" FILE-WITH-A-CLAUSE-A-LINE')
