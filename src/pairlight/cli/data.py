"""`pairlight data`: list the named datasets, or show a sample of one."""

from itertools import groupby
from typing import Annotated

import typer

from pairlight.cli.command import Command
from pairlight.cli.options import MAX_COUNT, MAX_SEED, Folder, Json
from pairlight.cli.output import print_json
from pairlight.core.terminal import printable_line

data = typer.Typer(help="List the named datasets, or show a sample of one.", no_args_is_help=True)


@data.command("list", cls=Command)
def list_datasets(as_json: Json = False) -> None:
    """List the named datasets with their size, license and source."""
    from pairlight.datasets.catalog import DATASETS

    if as_json:
        print_json([vars(dataset) for dataset in DATASETS.values()])
        return
    for dataset in DATASETS.values():
        print(f"{dataset.name:10} {dataset.description}")
        print(f"{'':10} {dataset.size}; {dataset.license}; {dataset.source}")


@data.command("show", cls=Command)
def show_dataset(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    lists: Annotated[int, typer.Option("--lists", min=1, max=MAX_COUNT, help="Number of ranking lists to show.")] = 3,
    folder: Folder = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=MAX_SEED, help="Seed of the sample.")] = 0,
    as_json: Json = False,
) -> None:
    """Print random ranking lists of a named dataset."""
    from pairlight.datasets.catalog import sample_dataset

    pairs = sample_dataset(name, lists, folder, seed)
    rows = [
        {"left": pairs.texts[left], "right": pairs.texts[right], "label": float(label)}
        for left, right, label in zip(pairs.left, pairs.right, pairs.labels, strict=True)
    ]
    if as_json:
        print_json(rows)
        return
    for number, (left, of_list) in enumerate(groupby(rows, key=lambda row: row["left"])):
        print(("\n" if number else "") + printable_line(str(left)))
        for row in of_list:
            print(f"  {row['label']:g}  {printable_line(row['right'])}")
