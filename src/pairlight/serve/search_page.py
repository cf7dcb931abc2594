"""The search page: a template that is filled on the server, so that it also works without JavaScript."""

import base64
import hashlib
import html
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from pairlight.search.analyzers import CJK
from pairlight.search.index import Index

EXPLANATION_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'; sandbox allow-scripts"
)
_WORD = re.compile(f"({CJK.pattern[:-1]}|[^\\W_]+)")  # characters of scripts without spaces one by one
_EXAMPLES = 4
_EXAMPLE_WORDS, _EXAMPLE_CHARACTERS = 6, 500

Terms = Callable[[str], list[str]]  # how the lexical stage divides a text
Mark = Callable[[str], str]


class SearchPage:
    """The template with its Content-Security-Policy, which allows only the template's own script and style."""

    def __init__(self) -> None:
        self.template = files("pairlight.serve").joinpath("page.html").read_text(encoding="utf-8")
        script, style = (self._digest(tag) for tag in ("script", "style"))
        policy = (
            f"default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src 'self'; frame-src 'self'; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        self.headers = [("content-security-policy", policy), ("referrer-policy", "no-referrer")]
        self._example_cache: tuple[int, list[str]] | None = None

    def html(
        self,
        query: str,
        models: Sequence[str],
        chosen: Sequence[str | None],
        columns: Sequence[Mapping[str, Any]],
        examples: Sequence[str],
        size: int | None,
        problem: str | None,
        terms: Terms,
    ) -> bytes:
        """The page with the results of each chosen model in a column of its own.

        Words with a term of the query's are marked, until the script has the words that matter for the model's score.
        """
        mark = partial(_highlighted, wanted=set(terms(query)), terms=terms)
        about = "No index is served: start the server with one to search." if size is None else f"{size:,} documents"
        links = "".join(f'<li><a href="?{urlencode({"q": each})}">{html.escape(each)}</a></li>' for each in examples)
        filled = {
            "query": html.escape(query, quote=True),
            "about": html.escape(about),
            "examples": f'<ul id="examples">{links}</ul>' if links else "",
            "models": _model_choice(models, chosen),
            "results": "".join(_column(query, each, mark) for each in columns),
            "problem": "" if problem is None else html.escape(problem),
        }
        page = re.sub(r"<!-- (\w+) -->", lambda found: filled[found[1]], self.template)
        return page.encode("utf-8", "replace")

    def examples(self, index: Index) -> tuple[int, list[str]]:
        """The number of documents, and the beginnings of some as queries to try, read again when the number changes."""
        size = len(index)
        if self._example_cache is None or self._example_cache[0] != size:
            texts = (each.text[:_EXAMPLE_CHARACTERS] for each in index.sample(_EXAMPLES))
            found = [" ".join(re.findall(r"\w+", text)[:_EXAMPLE_WORDS]) for text in texts]
            self._example_cache = size, [each for each in found if each]
        return self._example_cache

    def _digest(self, tag: str) -> str:
        found = re.search(f"<{tag}>(.*?)</{tag}>", self.template, re.DOTALL)
        content = found[1] if found else ""
        return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _model_choice(models: Sequence[str], chosen: Sequence[str | None]) -> str:
    """Nothing to choose with one model; with more, a box for each: two are compared side by side."""
    if len(models) < 2:
        return ""
    boxes = "".join(
        f'<label><input type="checkbox" name="model" value="{html.escape(name, quote=True)}"'
        f"{' checked' if name in chosen else ''}> {html.escape(name)}</label>"
        for name in models
    )
    return f"<fieldset><legend>Models (two are compared)</legend>{boxes}</fieldset>"


def _column(query: str, found: Mapping[str, Any], mark: Mark) -> str:
    hits = "".join(
        _hit(query, found["model"], hit, found["hits"][0]["id"] if number else None, mark)
        for number, hit in enumerate(found["hits"])
    )
    seconds = found["seconds"]
    times = f"first stage {1000 * seconds['first_stage']:.1f} ms, rerank {1000 * seconds['rerank']:.1f} ms"
    heading = html.escape(found["model"] or "first stage only")
    model = "" if found["model"] is None else f' data-model="{html.escape(found["model"], quote=True)}"'
    warnings = found.get("meta", {}).get("warnings", [])
    about = html.escape(" ".join([f"{found['candidates']} candidates; {times}.", *warnings]))
    return f"<section{model}><h2>{heading}</h2><p>{about}</p><ol>{hits or '<li>No answer.</li>'}</ol></section>"


def _hit(query: str, model: str | None, hit: Mapping[str, Any], best: str | None, mark: Mark) -> str:
    scores = f"score {hit['score']:.3f} · first stage {hit['first_score']:.3f}"
    links = ""
    if model is not None:
        scores += f" · model {hit['model_score']:.3f}"
        links = _link("Why?", query, model, [hit["id"]])
        if best is not None:
            links += " " + _link("Why not first?", query, model, [best, hit["id"]])
    name = html.escape(hit["id"], quote=True)
    text = mark(hit["passage"]["text"])
    return f'<li data-id="{name}"><p>{text}</p><small>{name} · {scores} {links}</small></li>'


def _link(label: str, query: str, model: str, ids: Sequence[str]) -> str:
    target = urlencode([("q", query), ("model", model), *(("id", each) for each in ids)])
    return f'<a class="why" href="explanation?{html.escape(target)}">{label}</a>'


def _highlighted(text: str, wanted: set[str], terms: Terms) -> str:
    """The text with the words marked that the lexical stage takes for words of the query, so not its stop words."""
    parts = _WORD.split(text)
    return "".join(
        f"<mark>{html.escape(part)}</mark>" if number % 2 and wanted.intersection(terms(part)) else html.escape(part)
        for number, part in enumerate(parts)
    )
