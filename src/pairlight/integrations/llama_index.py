"""LlamaIndex: a node postprocessor that reranks what a retriever has found."""

from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from pairlight.core.errors import InputError
from pairlight.matcher import Matcher


class PairlightRerank(BaseNodePostprocessor):
    """Keeps the `top_n` best nodes, with their scores: `PairlightRerank(Matcher.load("my-model"), top_n=3)`."""

    top_n: int = 3
    _matcher: Matcher = PrivateAttr()

    def __init__(self, matcher: Matcher, top_n: int = 3, **options: Any) -> None:
        super().__init__(top_n=top_n, **options)
        self._matcher = matcher

    @classmethod
    def class_name(cls) -> str:
        return "PairlightRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InputError("There is no query to rank for: call postprocess_nodes with query_str.")
        texts = [each.node.get_content(metadata_mode=MetadataMode.EMBED) for each in nodes]
        ranked = self._matcher.rank(query_bundle.query_str, texts, self.top_n)
        return [NodeWithScore(node=nodes[each["corpus_id"]].node, score=each["score"]) for each in ranked]
