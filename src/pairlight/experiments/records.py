"""Records as JSON: dataclasses are converted to dictionaries and back, and every value is checked when it is read."""

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from pairlight.core.errors import InputError
from pairlight.core.files import write_json

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
        return decode(cls, values)


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


def decode(kind: Any, value: Any, name: str = "the record") -> Any:
    """The JSON value as this type: dataclasses from objects, tuples from arrays; a ValueError if it does not fit."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        return _decode_union(inner, value, name)
    if origin is Literal:
        return _check(value in inner, value, name, f"one of {', '.join(map(str, inner))}")
    if origin in (tuple, list):
        _check(isinstance(value, list | tuple), value, name, "an array")
        repeated = origin is list or inner[-1] is Ellipsis
        _check(repeated or len(value) == len(inner), value, name, f"an array of {len(inner)} values")
        kinds = [inner[0]] * len(value) if repeated else inner
        return origin(
            decode(each, part, f"{name}[{i}]") for i, (each, part) in enumerate(zip(kinds, value, strict=True))
        )
    if origin in (dict, Mapping):
        _check(isinstance(value, Mapping), value, name, "an object")
        return {key: decode(inner[1], each, f"{name}.{key}") for key, each in value.items()}
    if is_dataclass(kind):
        return _decode_dataclass(kind, value, name)
    if kind is float:
        return float(_check(_is(value, int, float), value, name, "a number"))
    if kind is types.NoneType:
        return _check(value is None, value, name, "null")
    return _check(_is(value, kind), value, name, f"of type {kind.__name__}")


def _decode_union(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    exact = [kind for kind in kinds if type(value) is kind]  # so that 1 stays an integer where a float would fit too
    others = [kind for kind in kinds if kind is not types.NoneType]
    for kind in exact or others[:-1]:
        try:
            return decode(kind, value, name)
        except ValueError:
            continue
    return decode(others[-1], value, name)


def _decode_dataclass(kind: Any, value: Any, name: str) -> Any:
    _check(isinstance(value, Mapping), value, name, "an object")
    hints = get_type_hints(kind)
    known = {each.name: each for each in fields(kind)}
    unknown = [key for key in value if key not in known]
    if unknown:
        raise ValueError(f"{name} has the unknown field {unknown[0]!r}")
    for key, each in known.items():
        if key not in value and each.default is MISSING and each.default_factory is MISSING:
            raise ValueError(f"{name} has no field {key!r}")
    return kind(**{key: decode(hints[key], each, key) for key, each in value.items()})


def _is(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _check(holds: bool, value: Any, name: str, what: str) -> Any:
    if not holds:
        shown = repr(value)
        raise ValueError(f"{name} is {shown if len(shown) <= 40 else shown[:37] + '...'}, not {what}")
    return value
