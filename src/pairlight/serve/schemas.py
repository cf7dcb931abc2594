"""The bodies of requests as JSON schemas, which are both published and checked."""

import re
from collections.abc import Mapping
from typing import Any

from pairlight.serve.request_error import RequestError
from pairlight.text.checks import short_repr

Schema = dict[str, Any]

# Written out, because regular expressions of different languages disagree about what a space is.
_SPACE = "\\u0000-\\u0020\\u007f-\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
TEXT: Schema = {"type": "string", "pattern": "^[^\\u0000]*$"}  # an empty text is scored like an unknown word
QUERY: Schema = {"type": "string", "pattern": f"^[^\\u0000]*[^{_SPACE}][^\\u0000]*$"}
DOCUMENT: Schema = {"anyOf": [TEXT, {"type": "object", "required": ["text"], "properties": {"text": TEXT}}]}
BOOLEAN: Schema = {"type": ["boolean", "null"]}
NAME: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": ["number", "null"]}

_KINDS = {
    "string": "a text",
    "boolean": "true or false",
    "null": "null",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
}

_TYPES: dict[str, type] = {"string": str, "integer": int, "number": int, "array": list, "object": dict}


def count(minimum: int, maximum: int | None = None, *, default: int | None = None) -> Schema:
    """A whole number, or null for the default."""
    limits = {"minimum": minimum} | ({} if maximum is None else {"maximum": maximum})
    return {"type": ["integer", "null"], **limits} | ({} if default is None else {"default": default})


def listed(item: Schema, maximum: int) -> Schema:
    """A list that is not empty."""
    return {"type": "array", "items": item, "minItems": 1, "maxItems": maximum}


def check(value: Any, schema: Mapping[str, Any], name: str = "") -> None:
    """Refuse a value that breaks a schema; the message names the field."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        raise _wrong(name, value, f"use {' or '.join(_KINDS[kind] for kind in kinds)}")
    if isinstance(value, str):
        _check_text(value, schema, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, schema, name)
    elif isinstance(value, list):
        _check_list(value, schema, name)
    elif isinstance(value, dict):
        _check_object(value, schema, name)
    for each in schema.get("allOf", ()):
        check(value, each, name)
    if "anyOf" in schema:
        _check_any(value, schema, name)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) or value is None:
        return kind == {True: "boolean", False: "boolean", None: "null"}[value]
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    return isinstance(value, _TYPES.get(kind, ()))


def _check_any(value: Any, schema: Mapping[str, Any], name: str) -> None:
    refusals = []
    for each in schema["anyOf"]:
        try:
            check(value, each, name)
            return
        except RequestError as refusal:
            refusals.append(refusal)
    same_kind = [
        refusal
        for each, refusal in zip(schema["anyOf"], refusals, strict=True)
        if isinstance(each.get("type"), str) and _is(value, each["type"])
    ]
    raise (same_kind or refusals)[0]


def _check_text(value: str, schema: Mapping[str, Any], name: str) -> None:
    if "pattern" in schema and not re.search(schema["pattern"], value):
        fault = "contains a NUL character: remove it" if "\0" in value else "is empty: give a text with a word"
        raise RequestError("Validation", f"`{name}` {fault}.")
    if len(value) > schema.get("maxLength", len(value)):
        raise _wrong(name, value, f"use at most {schema['maxLength']} characters")
    if len(value) < schema.get("minLength", 0):
        raise _wrong(name, value, "give a text that is not empty")


def _check_number(value: float, schema: Mapping[str, Any], name: str) -> None:
    low, high = schema.get("minimum"), schema.get("maximum")
    if (low is not None and value < low) or (high is not None and value > high):
        rule = f"from {low} on" if high is None else f"from {low} to {high}"
        raise _wrong(name, value, f"use a number {rule}")


def _check_list(value: list[Any], schema: Mapping[str, Any], name: str) -> None:
    if len(value) < schema.get("minItems", 0):
        raise RequestError("Empty", f"`{name}` cannot be empty: give at least {schema['minItems']}.")
    if len(value) > schema.get("maxItems", len(value)):
        raise RequestError(
            "Validation", f"`{name}` has {len(value)} entries: send at most {schema['maxItems']} in a request."
        )
    if "items" in schema:
        for number, each in enumerate(value):
            check(each, schema["items"], f"{name}[{number}]")


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], name: str) -> None:
    inside = f"{name}." if name else ""
    for field in schema.get("required", ()):
        if field not in value:
            raise RequestError("Validation", f"`{inside}{field}` is missing: it is required.")
    if len(value) > schema.get("maxProperties", len(value)):
        raise RequestError("Validation", f"`{name}` has {len(value)} fields: send at most {schema['maxProperties']}.")
    known = schema.get("properties", {})
    for field, each in value.items():
        _check_text(field, schema.get("propertyNames", {}), name)
        rule = known.get(field, schema.get("additionalProperties"))
        if isinstance(rule, dict):
            check(each, rule, f"{inside}{field}")


def _wrong(name: str, value: Any, rule: str) -> RequestError:
    what = f"`{name}`" if name else "The body"
    return RequestError("Validation", f"{what} is {short_repr(value)}: {rule}.")
