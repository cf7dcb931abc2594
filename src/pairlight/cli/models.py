"""`pairlight models`: list the models, or describe one."""

import inspect
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pairlight.cli.options import Json
from pairlight.cli.output import print_json

if TYPE_CHECKING:
    from pairlight.models.base import PairModel

_VOCAB = 10_000  # vocabulary size at which parameters are counted


def models(
    name: Annotated[str | None, typer.Argument(help="Describe this model: its equations and settings.")] = None,
    as_json: Json = False,
) -> None:
    """List the models, or describe one."""
    if name is None:
        _list_models(as_json)
    else:
        _describe(name, as_json)


def _list_models(as_json: bool) -> None:
    from pairlight.models import MODELS, model_class

    rows = [_summary(name, model_class(name)) for name in MODELS]
    if as_json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, value in rows[0].items():
        justify = "right" if isinstance(value, int) else "left"
        table.add_column(column.replace("_", " "), justify=justify, no_wrap=column == "name")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(f"{value:,}" if isinstance(value, int) else value for value in row.values()))
    Console().print(table)
    print(f"(parameters with default settings and a vocabulary of {_VOCAB:,} words)")


def _describe(name: str, as_json: bool) -> None:
    from pairlight.models import model_class
    from pairlight.models.settings import model_settings

    model = model_class(name)
    settings = model_settings(model).values()
    equations = (inspect.getdoc(model) or "").partition("Settings:\n")[0].rstrip()
    options = {
        "training_defaults": dict(model.training_defaults),
        "paper_training": dict(model.training_options({"evidence": False})) if model.takes_evidence else {},
    }
    if as_json:
        details = {"equations": equations, **options}
        rows = [asdict(each) | {"range": each.range and str(each.range)} for each in settings]
        print_json(_summary(name, model) | details | {"settings": rows})
        return
    print(f"{name}: {model.paper}\n\n{equations}\n")
    for setting in settings:
        print(f"  --set {f'{setting.name}={setting.default}':24} {setting.meaning}")
    titles = "Default training options", "Training options in the form of the paper"
    for title, some in zip(titles, options.values(), strict=True):
        if some:
            print(f"\n{title}: {', '.join(f'{option}={value}' for option, value in some.items())}")


def _summary(name: str, model: "type[PairModel]") -> dict[str, Any]:
    return {
        "name": name,
        "family": model.family,
        "input_kind": model.inputs.input_kind,
        "paper": model.paper,
        "parameters": sum(parameter.numel() for parameter in model(_VOCAB).parameters()),
        "lines": len(inspect.getsource(model).splitlines()),
    }
