"""`pairlight models` and `pairlight data`: what there is to choose from."""

import inspect
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pairlight.cli import common
from pairlight.datasets.catalogue import SETS, sample

data = typer.Typer(help="The named sets.", no_args_is_help=True)
VOCABULARY = 10_000  # words assumed where a model's size is told


def models(
    name: Annotated[str | None, typer.Argument(help="Tell one model's equations and settings.")] = None,
    as_json: common.Json = False,
) -> None:
    """List the models, or tell all about one."""
    from pairlight.models import MODELS, model_class
    from pairlight.models.base import PairModel, defaults, meanings

    def facts(name: str, model: type[PairModel]) -> dict[str, Any]:
        size = sum(parameter.numel() for parameter in model(VOCABULARY).parameters())
        lines = len(inspect.getsource(model).splitlines())
        return {
            "name": name,
            "family": model.family,
            "reads": model.input_kind,
            "paper": model.paper,
            "parameters": size,
            "lines": lines,
        }

    if name is not None:
        model = model_class(name)
        told = meanings(model)
        settings = [{"name": k, "default": v, "meaning": told[k]} for k, v in defaults(model).items()]
        about = (inspect.getdoc(model) or "").partition("Settings:\n")[0].rstrip()
        if as_json:
            common.print_json(
                facts(name, model) | {"equations": about, "settings": settings, "training": model.training_defaults}
            )
            return
        print(f"{name}: {model.paper}\n\n{about}\n")
        for each in settings:
            print(f"  --set {each['name'] + '=' + str(each['default']):24} {each['meaning']}")
        if model.training_defaults:
            print("\nTrained by default with: " + ", ".join(f"{k}={v}" for k, v in model.training_defaults.items()))
        return
    rows = [facts(name, model) for name, model in MODELS.items()]
    if as_json:
        common.print_json(rows)
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in rows[0]:
        table.add_column(
            column, justify="right" if column in ("parameters", "lines") else "left", no_wrap=column == "name"
        )
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in row.values()))
    Console().print(table)
    print(f"(parameters at default settings and {VOCABULARY:,} words)")


@data.command("list")
def list_sets(as_json: common.Json = False) -> None:
    """The named sets with size, terms and where to get them."""
    if as_json:
        common.print_json([vars(each) for each in SETS.values()])
        return
    for each in SETS.values():
        print(f"{each.name:10} {each.about}\n{'':10} {each.size}; {each.terms}; {each.origin}")


@data.command("show")
def show_set(
    name: Annotated[str, typer.Argument(help="A named set.")],
    lists: Annotated[int, typer.Option("--lists", min=1, help="How many lists to show.")] = 3,
    folder: common.Folder = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed shows others.")] = 0,
    as_json: common.Json = False,
) -> None:
    """Print a sample of a named set."""
    pairs = sample(name, lists, folder, seed)
    rows = [
        {"left": pairs.texts[i], "right": pairs.texts[j], "label": float(label)}
        for i, j, label in zip(pairs.left, pairs.right, [] if pairs.label is None else pairs.label, strict=True)
    ]
    if as_json:
        common.print_json(rows)
        return
    last = None
    for row in rows:
        if row["left"] != last:
            print(("\n" if last else "") + str(row["left"]))
            last = row["left"]
        print(f"  {row['label']:g}  {row['right']}")
