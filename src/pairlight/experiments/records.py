"""Records of experiments as JSON files with a format number."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from pairlight.core.errors import InputError
from pairlight.core.files import write_json
from pairlight.core.records import decode

FORMAT = 1  # of all files with records of experiments

Value = bool | int | float | str
Values = Mapping[str, Value]  # settings of a model, or training options, by name

R = TypeVar("R", bound="Record")


@dataclass(frozen=True)
class Record:
    """The base class of records that are stored as JSON."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """The record with these values; a ValueError names the first value that does not fit."""
        record: Self = decode(cls, values)
        return record


def write_record(path: Path, record: Record) -> None:
    """Write a record as JSON, with the number of the format."""
    write_json(path, {"format": FORMAT, **record.as_dict()})


def read_record(path: Path, kind: type[R], fix: str) -> R:
    """Read a file of `write_record`; `fix` ends the error message for a damaged file: "run it again"."""
    values = read_values(path, fix)
    try:
        return kind.from_dict(values)
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): {fix}.") from None


def read_values(path: Path, fix: str) -> dict[str, Any]:
    """The JSON object in a file without its format number, which must be that of this version."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # neither JSON nor UTF-8
        raise InputError(f"{path} is damaged (not valid JSON): {fix}.") from None
    if not isinstance(values, dict) or not isinstance(values.get("format"), int):
        raise InputError(f"{path} has no format number, so this version cannot read it: {fix}.")
    found = values.pop("format")
    if found != FORMAT:
        fix = "install a newer version" if found > FORMAT else fix
        raise InputError(f"{path} has format {found}, and this version reads format {FORMAT}: {fix}.")
    return values
