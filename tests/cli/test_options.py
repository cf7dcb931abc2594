"""The decorators that give commands their shared options."""

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pairlight.cli.options import Columns, parse_settings, with_columns, with_training_options
from pairlight.core.errors import InputError
from pairlight.core.progress import ProgressReporter
from pairlight.training.config import TrainingConfig


def called_with(*arguments: str, **selected: bool) -> dict[str, Any]:
    """Run a command that has both decorators, and return what it was called with."""
    received: dict[str, Any] = {}

    @with_training_options
    @with_columns(**selected)
    def command(source: str, limit: int = 3, *, columns: Columns, options: dict[str, Any]) -> None:
        """A command."""
        received.update(source=source, limit=limit, columns=columns, options=options)

    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, ["file", *arguments])
    assert done.exit_code == 0, done.output
    return received


def flags_of(**selected: bool) -> list[str]:
    @with_columns(**selected)
    def command(source: str, *, columns: Columns) -> None: ...

    return list(inspect.signature(command).parameters)[1:]


def test_a_command_receives_one_object_with_its_columns():
    given = called_with("--left", "q", "--right-id", "d", "--skip-bad-rows")
    assert given["columns"] == Columns(left="q", right_id="d", skip_bad_rows=True)
    assert (given["source"], given["limit"]) == ("file", 3)
    assert called_with()["columns"] == Columns()


def test_the_header_and_the_folder_are_columns_options_too():
    given = called_with("--header", "left,right", "--folder", "x", header=True, folder=True)
    assert given["columns"] == Columns(header="left,right", folder=Path("x"))


def test_a_command_has_only_the_flags_that_apply():
    assert flags_of() == ["left", "right", "label", "left_id", "right_id", "skip_bad_rows"]
    assert flags_of(label=False, ids=False) == ["left", "right", "skip_bad_rows"]
    assert flags_of(header=True, folder=True) == [each.name for each in fields(Columns)]


def test_a_command_receives_the_training_options_that_were_given():
    assert called_with()["options"] == {}
    given = called_with("--lr", "0.5", "--no-normalize", "--negatives-per-positive", "2", "--top", "7")
    assert given["options"] == {"lr": 0.5, "normalize": False, "negatives_per_positive": 2, "top": 7}


def test_training_flags_have_the_meaning_and_default_of_their_field():
    @with_training_options
    def command(*, options: dict[str, Any]) -> None: ...

    app = typer.Typer(rich_markup_mode=None)
    app.command()(command)
    text = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    for each in fields(TrainingConfig):
        assert f"{each.metadata['meaning']} [default: {each.default}]" in text


def test_a_bad_training_option_is_an_error_before_the_command_runs():
    @with_training_options
    def command(*, options: dict[str, Any]) -> None:
        pytest.fail("the command ran")

    given = dict.fromkeys(TrainingConfig().as_dict())
    with pytest.raises(InputError, match="lr=0"):
        command(**given | {"lr": 0.0})


def test_columns_are_written_as_flags_again():
    columns = Columns(left="my question", skip_bad_rows=True, folder=Path("x"))
    assert columns.flags() == ["--left", "my question", "--skip-bad-rows", "--folder", "x"]
    assert Columns().flags() == []


@pytest.mark.parametrize(
    ("columns", "sources", "option"),
    [
        (Columns(left="q"), ["a.tsv"], None),
        (Columns(left="q"), ["wikiqa", "b.tsv.gz"], None),
        (Columns(left="q"), ["wikiqa", None], "left"),
        (Columns(skip_bad_rows=True), ["notes.txt"], "skip_bad_rows"),
        (Columns(folder=Path("x")), ["wikiqa", "b.tsv"], None),
        (Columns(folder=Path("x")), ["a.tsv"], "folder"),
    ],
)
def test_an_option_that_applies_to_no_source_is_an_error(columns, sources, option):
    if option is None:
        columns.check(*sources)
        return
    with pytest.raises(InputError, match="remove it") as error:
        columns.check(*sources)
    assert error.value.option == option


def test_a_file_is_read_with_the_given_columns(tmp_path):
    (tmp_path / "p.csv").write_text("a,b,1\nc,d,0\n")
    columns = Columns(left="l", right="r", label="y", header="l, r,y")
    pairs = columns.read(str(tmp_path / "p.csv"), ProgressReporter())
    assert [pairs.texts[i] for i in pairs.left] == ["a", "c"]
    assert pairs.labels.tolist() == [1, 0]
    assert list(columns.read_splits(str(tmp_path / "p.csv"), ProgressReporter())) == ["train"]


def test_settings_are_pairs_of_names_and_values():
    assert parse_settings(["k=5", "mlp-size=a=b"], "settings") == {"k": "5", "mlp_size": "a=b"}
    assert parse_settings(None, "settings") == {}
    for bad in ("k", "=5"):
        with pytest.raises(InputError, match="name=value") as error:
            parse_settings([bad], "choices")
        assert error.value.option == "choices"
