"""Records of experiments as JSON files with a format number."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from pairlight.core import records
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
    """Write a record as JSON, with the number of the format and a checksum."""
    records.write_record(path, record.as_dict(), FORMAT)


def read_record(path: Path, kind: type[R], fix: str) -> R:
    """Read a file of `write_record`; `fix` ends the error message for a damaged file: "run it again"."""
    return records.decode_file(path, kind, read_values(path, fix), fix)


def encode_line(record: Record) -> bytes:
    """A record as a line of a file that grows, with the number of the format and a checksum."""
    return records.encode_record(record.as_dict(), FORMAT, indent=None)


def decode_line(line: bytes, path: Path, fix: str) -> dict[str, Any]:
    """The values of a line; those of earlier versions have neither format nor checksum."""
    values = records.parse_json(line, path, fix)
    if isinstance(values, dict) and not {"format", "sha256"} & values.keys():
        return values
    return records.decode_record(line, path, FORMAT, fix)


def read_values(path: Path, fix: str) -> dict[str, Any]:
    """The values in a file of records; those of earlier versions have no checksum."""
    return records.read_values(path, FORMAT, fix, needs_checksum=False)
