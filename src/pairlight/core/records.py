"""Dataclasses from JSON values, with every value checked against its type."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


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
