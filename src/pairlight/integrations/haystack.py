"""Haystack: a ranker component for pipelines."""

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from pairlight.matcher import Matcher


@component
class PairlightRanker:
    """Keeps the `top_k` best documents, with their scores; `model` is a model folder or a ready-made model.

    A pipeline with it can be saved; to load it, allow this module: `Pipeline.loads(text, allowed_modules=[...])`.
    """

    def __init__(self, model: str, top_k: int = 10) -> None:
        self.model, self.top_k = model, top_k
        self._matcher: Matcher | None = None

    def warm_up(self) -> None:
        """Load the model, which `run` does otherwise when it is first called."""
        if self._matcher is None:
            self._matcher = Matcher.load(self.model)

    def to_dict(self) -> dict[str, Any]:
        saved: dict[str, Any] = default_to_dict(self, model=self.model, top_k=self.top_k)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PairlightRanker":
        loaded: PairlightRanker = default_from_dict(cls, data)
        return loaded

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        self.warm_up()
        if self._matcher is None or not documents:
            return {"documents": []}
        ranked = self._matcher.rank(query, [each.content or " " for each in documents], top_k or self.top_k)
        return {"documents": [replace(documents[each["corpus_id"]], score=each["score"]) for each in ranked]}
