"""Records that pairlight writes for itself: JSON files with a format number and a checksum, read with types."""

import hashlib
import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from pairlight.core.errors import InputError
from pairlight.core.files import atomic_write

MAX_BYTES = 100_000_000  # of a record

T = TypeVar("T")


class RecordError(InputError):
    """A file that pairlight has written cannot be used; the message names the file, the fault and the fix."""

    @classmethod
    def of(cls, path: Path, fault: object, fix: str, option: str | None = None) -> "RecordError":
        return cls(f"{path} is damaged ({fault}): {fix}.", option=option)


def write_record(path: Path, values: Mapping[str, Any], version: int) -> None:
    """Write values as JSON, atomically, with the number of their format and a checksum."""
    with atomic_write(path) as file:
        file.write(encode_record(values, version))


def encode_record(values: Mapping[str, Any], version: int, indent: int | None = 2) -> bytes:
    """The contents of a file of `write_record`; without `indent`, a single line."""
    # As it will be read: tuples are arrays, and what is not Unicode is replaced.
    record = json.loads(json.dumps({"format": version, **values}, ensure_ascii=False).encode("utf-8", "replace"))
    text = json.dumps({**record, "sha256": _digest(record)}, indent=indent, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "replace")


def read_record(path: Path, kind: type[T], version: int, fix: str, *, give: str = "check the path") -> T:
    """Read what `write_record` wrote, as this dataclass.

    `fix` ends the message for a file that is damaged or older: "run it again"; `give` that for a file that cannot be
    read: "give the folder of a saved model".
    """
    return decode_file(path, kind, read_values(path, version, fix, give=give), fix)


def read_values(
    path: Path, version: int, fix: str, *, give: str = "check the path", needs_checksum: bool = True
) -> dict[str, Any]:
    """The values that `write_record` wrote, once their format and checksum are verified."""
    return decode_record(read_bytes(path, give), path, version, fix, needs_checksum=needs_checksum)


def decode_record(content: bytes, path: Path, version: int, fix: str, *, needs_checksum: bool = True) -> dict[str, Any]:
    """The values in the contents of a file of `write_record`, once their format and checksum are verified."""
    values = parse_json(content, path, fix)
    if not isinstance(values, dict) or type(values.get("format")) is not int:
        raise RecordError(f"{path} has no format number, so this version cannot read it: {fix}.")
    if values["format"] != version:
        said = f"{path} has format {values['format']}, and this version reads format {version}"
        if values["format"] > version:  # not damaged: it must not be replaced
            raise InputError(f"{said}: install a newer version.")
        raise RecordError(f"{said}: {fix}.")
    found = values.pop("sha256", None)
    with_format = _digest(values)
    del values["format"]
    # An index of an earlier version has the checksum of its values without the format, which was compared above.
    if (needs_checksum or found is not None) and found != with_format and found != _digest(values):
        raise RecordError.of(path, "its checksum is wrong", fix)
    return values


def decode_file(path: Path, kind: type[T], values: Any, fix: str) -> T:
    """The value that was read from a file as this type, or a RecordError."""
    try:
        record: T = decode(kind, values)
    except ValueError as error:
        raise RecordError.of(path, str(error).removesuffix("."), fix) from None
    return record


def read_bytes(path: Path, give: str) -> bytes:
    """The contents of a file of records."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error.strerror}): {give}.") from None
    if len(content) > MAX_BYTES:
        raise RecordError(f"{path} has more than {MAX_BYTES:,} bytes, so it is not a file of pairlight: {give}.")
    return content


def parse_json(content: bytes | str, path: Path, fix: str) -> Any:
    """The JSON value in a file; unlike the parser of Python, NaN, Infinity and deep nesting are errors."""
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):  # not UTF-8 is a ValueError too
        raise RecordError.of(path, "not valid JSON", fix) from None


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
        return _decode_float(value, name)
    if kind is types.NoneType:
        return _check(value is None, value, name, "null")
    return _check(_is(value, kind), value, name, f"of type {kind.__name__}")


def _decode_float(value: Any, name: str) -> float:
    _check(_is(value, int, float), value, name, "a number")
    _check(abs(value) < 2**1023 and math.isfinite(value), value, name, "a finite number")
    return float(value)


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


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
