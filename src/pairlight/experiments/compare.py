"""Models side by side on the same data: every model and seed is a cell, run once, and all make a leaderboard."""

import base64
import hashlib
import html
import json
import multiprocessing
import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairlight.data.pairs import Pairs
from pairlight.core.errors import InputError
from pairlight.core.files import write_text
from pairlight.experiments.dataset_settings import recipe

if TYPE_CHECKING:
    from pairlight.matcher import Matcher

CURVES = "Training loss and dev metric after every epoch"
Parts = dict[str, Pairs]


@dataclass(frozen=True)
class Cell:
    """One training: a model, how it is set and trained, and the seed."""

    model: str
    seed: int
    settings: dict[str, Any]
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """A file name of its own for every way to train it."""
        mark = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.model}-{self.seed}-{mark}"


Work = Callable[[Cell, Parts], dict[str, Any]]


def planned(data: str, model: str, seed: int, options: dict[str, Any]) -> Cell:
    """The cell of a model on a named set, by the recipe it has there; the options given come before the recipe's."""
    from pairlight.models import checked, model_class
    from pairlight.models.base import defaults

    how = recipe(data, model)
    own = {"seed": seed} if "seed" in defaults(model_class(model)) else {}
    return Cell(model, seed, checked(model, how.settings | own), how.options | options)


def measured(cell: Cell, parts: Parts) -> dict[str, Any]:
    """Train one cell, chosen on dev and measured once on test."""
    return trained(cell, parts)[1]


def kept(folder: Path, seed: int, cell: Cell, parts: Parts) -> dict[str, Any]:
    """The same, and the model of this seed stays in `folder`, to be looked into."""
    matcher, result = trained(cell, parts)
    if cell.seed == seed:
        matcher.save(folder / cell.name)
    return result


def specs_of_seeds(cell: Callable[[int], Cell], folder: Path, seeds: int) -> list[Cell]:
    """The cells of the first `seeds` seeds, and of those after them that `folder` holds already."""
    return list(takewhile(lambda each: each.seed <= seeds or _file(folder, each).exists(), map(cell, count(1))))


def compare(
    parts: Parts,
    cells: Iterable[Cell],
    folder: Path,
    *,
    jobs: int,
    done: Callable[[Cell, dict[str, Any], float], None],
    failed: Callable[[Cell, InputError], None],
    work: Work = measured,
) -> dict[str, dict[str, Any]]:
    """Run the cells that `folder` does not hold yet, `jobs` at a time, and give the results of all by their names.

    A cell that can't be trained is told to `failed` and has no result. `work` is a function of a module, or a partial
    one, since other processes must find it by its name.
    """
    cells = list(cells)
    found: dict[str, dict[str, Any]] = {}
    for cell in cells:
        file = _file(folder, cell)
        if file.exists():
            found[cell.name] = json.loads(file.read_text(encoding="utf-8"))
            done(cell, found[cell.name], len(found) / len(cells))
    missing = [cell for cell in cells if cell.name not in found]
    if missing:
        # New processes, one thread each: a forked copy of a threaded PyTorch may hang.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(parts,))
        try:
            running = {pool.submit(_run, work, cell): cell for cell in missing}
            for future in as_completed(running):
                cell = running[future]
                try:
                    found[cell.name] = future.result()
                except InputError as error:
                    failed(cell, error)
                    continue
                write_text(_file(folder, cell), json.dumps(found[cell.name], indent=1) + "\n")
                done(cell, found[cell.name], len(found) / len(cells))
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise InputError(
                    "A training was killed, as happens where memory runs out. Finished cells are kept: run it again, "
                    "with fewer --jobs."
                ) from None
            raise
        pool.shutdown()
    return {cell.name: found[cell.name] for cell in cells if cell.name in found}


def _file(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.name}.json"


_parts: Parts = {}


def _begin(parts: Parts) -> None:
    import torch

    torch.set_num_threads(1)
    _parts.update(parts)


def _run(work: Work, cell: Cell) -> dict[str, Any]:
    """What `work` makes of a cell, with the warnings that there were."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        result = work(cell, _parts)
    return result | {"notes": list(dict.fromkeys(str(each.message) for each in given if each.category is UserWarning))}


def trained(cell: Cell, parts: Parts) -> tuple["Matcher", dict[str, Any]]:
    """The matcher of a cell and what is told of it."""
    from pairlight.matcher import Matcher

    started = time.perf_counter()
    matcher = Matcher(cell.model, **cell.settings)
    matcher.fit(parts["train"], parts["dev"], seed=cell.seed, progress=False, **cell.options)
    model, _ = matcher.ready
    return matcher, {
        "model": cell.model,
        "seed": cell.seed,
        "settings": cell.settings,
        "options": cell.options,
        "dev": matcher.evaluate(parts["dev"]).metrics,
        "test": matcher.evaluate(parts["test"]).metrics,
        "epochs": len(matcher.history.epochs),
        "curve": matcher.history.epochs,
        "train_seconds": round(sum(epoch["seconds"] for epoch in matcher.history.epochs), 1),
        "seconds": round(time.perf_counter() - started, 1),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }


def leaderboard(results: list[dict[str, Any]], metric: str, papers: dict[str, float]) -> list[dict[str, Any]]:
    """A row for each model: mean and spread over seeds, best first."""
    rows = []
    for model in dict.fromkeys(result["model"] for result in results):
        runs = [result for result in results if result["model"] == model]
        test = {name: [run["test"][name] for run in runs] for name in runs[0]["test"]}
        rows.append(
            {
                "model": model,
                "seeds": len(runs),
                "test": {name: statistics.mean(values) for name, values in test.items()},
                "spread": {name: statistics.pstdev(values) for name, values in test.items()},
                "dev": statistics.mean(run["dev"][metric] for run in runs),
                "paper": papers.get(model),
                "train_seconds": statistics.mean(run["train_seconds"] for run in runs),
                "parameters": runs[0]["parameters"],
                "settings": runs[0]["settings"],
                "options": runs[0]["options"],
                "disagreements": None,
            }
        )
    return sorted(rows, key=lambda row: -row["test"][metric])


def as_markdown(rows: list[dict[str, Any]], metric: str, caption: str, curves: Path | None = None) -> str:
    """The leaderboard as a Markdown table, with its links and the picture of its learning curves."""
    headings, links = _headings(rows, metric), _linked(rows)
    lines = [caption, "", "| " + " | ".join([*headings, *(["disagreements"] if links else [])]) + " |"]
    lines.append("|---|" + "---:|" * (len(headings) - 1 + bool(links)))
    for row in rows:
        fields = _fields(row, metric)
        if links:
            told = row["disagreements"]
            fields.append("" if told is None else f"[{_counted(told)}]({told['page']})")
        lines.append("| " + " | ".join(fields) + " |")
    lines += ["", links] if links else []
    lines += ["", f"![{CURVES}]({curves.name})"] if curves else []
    return "\n".join(lines) + "\n"


def as_html(rows: list[dict[str, Any]], metric: str, caption: str, curves: Path | None = None) -> str:
    """The leaderboard as one page; a bar behind each figure shows its size. Only its links lead to other files."""
    best = max(row["test"][metric] for row in rows) or 1.0
    links = _linked(rows)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in _headings(rows, metric))
    head += "<th>disagreements</th>" if links else ""
    body = ""
    for row in rows:
        share = max(100 * row["test"][metric] / best, 0.0)
        fields = [html.escape(field) for field in _fields(row, metric)]
        how = html.escape(json.dumps({"settings": row["settings"], "options": row["options"]}, ensure_ascii=False))
        cells = f'<th scope="row" title="{how}">{fields[0]}</th>'
        cells += f'<td style="--share:{share:.1f}%" class="bar">{fields[1]}</td>'
        cells += "".join(f"<td>{field}</td>" for field in fields[2:])
        if links:
            told = row["disagreements"]
            link = "" if told is None else f'<a href="{html.escape(told["page"])}">{_counted(told)}</a>'
            cells += f"<td>{link}</td>"
        body += f"<tr>{cells}</tr>\n"
    below = f"<p>{html.escape(links)}</p>" if links else ""
    if curves is not None:
        picture = base64.b64encode(curves.read_bytes()).decode("ascii")
        below += f'<h2>{CURVES}</h2><p><img alt="{CURVES}" src="data:image/png;base64,{picture}"></p>'
    return _PAGE.format(caption=html.escape(caption.replace("`", "")), head=head, body=body, below=below)


def _linked(rows: list[dict[str, Any]]) -> str:
    """How the column of disagreements is read; empty where no row has any."""
    best = next((row["disagreements"]["with"] for row in rows if row["disagreements"]), None)
    if best is None:
        return ""
    return (
        f"Disagreements: how many test examples only {best} gets right + how many only the row's model does, first "
        "seed. Behind the link, those where the other is worst off are explained by both."
    )


def _counted(told: dict[str, Any]) -> str:
    return " + ".join(map(str, told["only"]))


def _headings(rows: list[dict[str, Any]], metric: str) -> list[str]:
    others = [name for name in rows[0]["test"] if name != metric]
    return ["model", metric, *others, f"dev {metric}", f"paper's {metric}", "training s", "trained parameters"]


def _fields(row: dict[str, Any], metric: str) -> list[str]:
    test, spread = row["test"], row["spread"]
    others = [f"{test[name]:.3f}" for name in test if name != metric]
    paper = "" if row["paper"] is None else f"{row['paper']:.3f}"
    figure = f"{test[metric]:.3f} ± {spread[metric]:.3f}"
    return [
        row["model"],
        figure,
        *others,
        f"{row['dev']:.3f}",
        paper,
        f"{row['train_seconds']:.0f}",
        f"{row['parameters']:,}",
    ]


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pairlight leaderboard</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root {{ color-scheme: light dark; --ink: #1b2430; --paper: #fff; --line: #d9dee5; --bar: #cfe3f5; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ee; --paper: #12161c; --line: #2c3440; --bar: #1f4565; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }}
body {{ margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }}
thead th {{ white-space: normal; vertical-align: bottom; }}
th:first-child {{ text-align: left; }}
a {{ color: inherit; }}
img {{ max-width: 100%; background: #fff; }}
.bar {{ background: linear-gradient(to right, var(--bar) var(--share), transparent var(--share)); }}
</style></head><body><h1>Leaderboard</h1><p>{caption}</p><div class="wide"><table>
<thead><tr>{head}</tr></thead><tbody>
{body}</tbody></table></div>{below}</body></html>
"""
