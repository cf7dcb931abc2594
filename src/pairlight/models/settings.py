"""The settings of a model as data: names, defaults, ranges and descriptions from its signature and docstring."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pairlight.core.errors import InputError, unknown_name
from pairlight.layers.embedding import EmbeddingSettings, WordEmbedding
from pairlight.layers.settings import Range

# Shared settings, which models accept as `**name: Unpack[...]`, and the layer that declares them.
SHARED = {EmbeddingSettings: WordEmbedding}

_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Setting:
    """A keyword argument of a model."""

    name: str
    default: Any
    meaning: str
    range: Range | None = None
    choices: tuple[str, ...] = ()

    def parse(self, value: Any) -> Any:
        """The value, converted from text if needed and checked against the type of the default and the range."""
        kind = type(self.default)
        parsed = _convert(kind, value)
        if parsed is None:
            raise InputError(f"{self.name}={value!r} is not {_KINDS[kind]}; the default is {self.default}.")
        if self.choices and parsed not in self.choices:
            raise InputError(f"{self.name}={parsed!r} is not one of {', '.join(self.choices)}.")
        if self.range is not None and not self.range.holds(parsed):
            raise InputError(f"{self.name}={parsed} is out of range: it must be {self.range}.")
        return parsed


EVIDENCE = Setting(
    "evidence", True, "add the score to that of static vectors and shared words; false is the form of the paper"
)


def model_settings(model: type[Any]) -> dict[str, Setting]:
    """All settings of a model, its own first, then the shared ones, then `evidence`."""
    return declared_settings(model) | ({EVIDENCE.name: EVIDENCE} if model.takes_evidence else {})


def declared_settings(model: type[Any]) -> dict[str, Setting]:
    """The settings that are arguments of the class."""
    own, shared = _declared(model), {}
    for name, hint in get_type_hints(model.__init__, include_extras=True).items():
        if _is_var_keyword(model, name):
            shared = _declared(SHARED[get_args(hint)[0]])
    # A model may declare a shared setting itself to give it another default.
    own = {name: each if each.meaning else replace(each, meaning=shared[name].meaning) for name, each in own.items()}
    return own | {name: setting for name, setting in shared.items() if name not in own}


def check_settings(name: str, model: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings, parsed. Errors for unknown names and invalid values name the model."""
    known = model_settings(model)
    parsed = {}
    for key, value in given.items():
        if key not in known:
            if not known:
                raise InputError(f"{name} has no settings: remove '{key}'.")
            raise InputError(f"{name}: {unknown_name('setting', key, known)}")
        try:
            parsed[key] = known[key].parse(value)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    return parsed


def _declared(layer: type[Any]) -> dict[str, Setting]:
    """The keyword-only arguments of a class, with ranges from annotations and meanings from the docstring."""
    hints = get_type_hints(layer.__init__, include_extras=True)
    _, _, listed = (inspect.getdoc(layer) or "").partition("Settings:\n")
    meanings = dict(re.findall(r"^  (\w+) +(\S.*)$", listed, re.MULTILINE))
    found = {}
    for name, parameter in inspect.signature(layer.__init__).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            details = getattr(hints[name], "__metadata__", ())
            found[name] = Setting(
                name,
                parameter.default,
                meanings.get(name, ""),
                next((each for each in details if isinstance(each, Range)), None),
                next((get_args(each) for each in details if get_origin(each) is Literal), ()),
            )
    return found


def _is_var_keyword(model: type[Any], name: str) -> bool:
    parameter = inspect.signature(model.__init__).parameters.get(name)
    return parameter is not None and parameter.kind is parameter.VAR_KEYWORD


def _convert(kind: type, value: Any) -> Any:
    """The value as this type, or None if it cannot be converted exactly."""
    if kind is bool:
        return _BOOLEANS.get(str(value).lower())
    if kind is str:
        return value if isinstance(value, str) else None
    if isinstance(value, bool):
        return None
    try:
        converted = kind(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return converted if not isinstance(value, float) or converted == value else None
