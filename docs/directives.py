"""Directives that write parts of the pages from the code: models, settings, training options, datasets, modules.

Nothing here names a model, so that a new one appears on the site by itself.
"""

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import pairlight
from pairlight.cli import app as command_line
from pairlight.core.markdown import markdown_table
from pairlight.datasets.catalog import DATASETS
from pairlight.models import MODELS, model_class
from pairlight.models.base import DualEncoder
from pairlight.models.settings import Setting, model_settings
from pairlight.training.config import TrainingConfig

ROOT = Path(__file__).parent.parent
PUBLIC = "api/index"  # the page with the names in `pairlight.__all__`
ALIASES = {
    r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[([^\]]+)\]\]": r"~numpy.typing.NDArray[\1]",
    r"~?\w[\w.]*_Buffer \| .*?\| complex \| bytes \| str \| .*?str\]": "~numpy.typing.ArrayLike",
}


def models() -> str:
    """All models, with quality and speed where they have been measured."""
    leaderboard = json.loads((ROOT / "docs" / "wikiqa" / "leaderboard.json").read_text("utf-8"))["rows"]
    quality = {row["model"]: f"{row['test']['MAP']:.3f}" for row in leaderboard}
    benchmark = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))["models"]
    speed = {row["model"]: f"{row['score']:,.0f}" for row in benchmark if row["workload"] == "30x40"}
    rows = []
    for name in MODELS:
        model = model_class(name)
        row = [f"[{name}]({name}.md)", f"{_first_line(model)} *{model.paper}*", model.family, model.inputs.input_kind]
        rows.append([*row, "yes" if issubclass(model, DualEncoder) else "", quality.get(name, ""), speed.get(name, "")])
    head = ["model", "what it does, and its paper", "family", "input", "stored encodings", "WikiQA MAP", "pairs/s"]
    return markdown_table(head, rows, "lllllrr")


def model_facts(name: str) -> str:
    """What a model's class declares."""
    model = model_class(name)
    defaults = ", ".join(f"`{key}={value}`" for key, value in model.training_defaults.items())
    rows = [
        ["family", model.family],
        ["input", model.inputs.input_kind],
        ["paper", model.paper],
        ["stored encodings", "yes" if issubclass(model, DualEncoder) else "no"],
        ["own training defaults", defaults or "none"],
    ]
    return markdown_table(["", ""], rows)


def model_settings_table(name: str) -> str:
    rows = [
        [f"`{each.name}`", f"`{each.default}`", _sentence(each.meaning), _values(each)]
        for each in model_settings(model_class(name)).values()
    ]
    return markdown_table(["setting", "default", "meaning", "values"], rows) if rows else "None."


def encoders() -> str:
    """The models whose encodings can be stored, in a sentence."""
    names = [f"[{name}](../models/{name}.md)" for name in MODELS if issubclass(model_class(name), DualEncoder)]
    return f"{', '.join(names[:-1])} and {names[-1]}."


def training_options() -> str:
    rows = [
        [f"`{each.name}`", f"`{each.default}`", _sentence(each.metadata["meaning"])] for each in fields(TrainingConfig)
    ]
    return markdown_table(["option", "default", "meaning"], rows)


def datasets() -> str:
    rows = [
        [f"`{each.name}`", each.description, each.task, each.size, each.license, _source(each.source)]
        for each in DATASETS.values()
    ]
    return markdown_table(["name", "what it is", "task", "size (train / dev / test)", "license", "source"], rows)


def commands() -> str:
    """Every command with its arguments and options."""
    group = typer.main.get_command(command_line)
    return "\n\n".join(_command(f"pairlight {name}", command) for name, command in group.commands.items())  # type: ignore[attr-defined]


def modules(package: str) -> str:
    """Every module of a package."""
    path = importlib.import_module(package).__path__
    names = [each.name for each in pkgutil.iter_modules(path, f"{package}.") if not each.ispkg]
    return "\n\n".join(f"## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```" for name in names)


GENERATORS: dict[str, Callable[..., str]] = {
    "models": models,
    "model-facts": model_facts,
    "model-settings": model_settings_table,
    "encoders": encoders,
    "training-options": training_options,
    "datasets": datasets,
    "commands": commands,
    "modules": modules,
}


class Generated(SphinxDirective):
    """Markdown that the generator of the same name returns."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(GENERATORS[self.name](*self.arguments), allow_section_headings=True)


def plain_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn a plain docstring into reStructuredText: equations and columns stay as they are, prose is escaped."""
    written: list[str] = []
    for paragraph in "\n".join(lines).strip().split("\n\n"):
        block = paragraph.strip("\n").split("\n")
        if any(re.match(r"\s", line) or re.search(r"\S {2,}\S| = ", line) for line in block):
            written += [".. code-block:: text", "", *(f"   {line}" for line in block), ""]
        else:
            written += [*_escaped("\n".join(block)).split("\n"), ""]
    lines[:] = written


def skip_public(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Document the names in `pairlight.__all__` once, on their own page."""
    public = {id(getattr(pairlight, each)) for each in pairlight.__all__}
    return True if id(obj) in public and app.env.current_document.docname != PUBLIC else None


def short_types(app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str) -> Any:
    """Write NumPy's aliases as they are in the code, not expanded."""

    def short(text: str | None) -> str | None:
        for pattern, alias in ALIASES.items():
            text = text and re.sub(pattern, alias, text)
        return text

    return short(signature), short(returns)


def setup(app: Sphinx) -> dict[str, bool]:
    for name in GENERATORS:
        app.add_directive(name, Generated)
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("autodoc-process-signature", short_types)
    app.connect("autodoc-skip-member", skip_public)
    return {"parallel_read_safe": True}


def _command(name: str, command: Any) -> str:
    if hasattr(command, "commands"):
        return "\n\n".join(_command(f"{name} {each}", inner) for each, inner in command.commands.items())
    arguments = [each.name.upper() for each in command.params if each.param_type_name == "argument"]
    rows = [
        [" ".join(f"`{flag}`" for flag in (*each.opts, *each.secondary_opts)), each.help or ""]
        if each.param_type_name == "option"
        else [f"`{each.name.upper()}`", each.help or ""]
        for each in command.params
    ]
    usage = " ".join([name, *arguments, "[OPTIONS]"])
    text = inspect.cleandoc(command.help or "")
    return f"## {name}\n\n```text\n{usage}\n```\n\n{text}\n\n{markdown_table(['argument or option', 'meaning'], rows)}"


def _first_line(obj: Any) -> str:
    return (inspect.getdoc(obj) or "").split("\n")[0]


def _values(setting: Setting) -> str:
    """The values that a setting may have, without limits that are only those of the number type."""
    return re.sub(r" and at most \d{9,}", "", str(setting.range or ", ".join(setting.choices)))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _source(source: str) -> str:
    return f"<{source}>" if source.startswith("http") else f"`{source}`"


def _escaped(text: str) -> str:
    """Prose as reStructuredText; `code` becomes a literal."""
    parts = re.split(r"`([^`]+)`", text)
    escaped = (f"\\ ``{part}``\\ " if at % 2 else re.sub(r"([*|_\\])", r"\\\1", part) for at, part in enumerate(parts))
    return "".join(escaped)
