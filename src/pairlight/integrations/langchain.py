"""LangChain: a document compressor that reranks what a retriever has found, and a cross-encoder."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from pairlight.matcher import Matcher


class PairlightReranker(BaseDocumentCompressor):
    """Keeps the `top_n` best documents, with their scores as `relevance_score` in the metadata.

    `matcher` is a `Matcher`: `PairlightReranker(matcher=Matcher.load("my-model"), top_n=3)`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    matcher: Any
    top_n: int = 3

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        ranked = self.matcher.rank(query, [each.page_content for each in documents], self.top_n)
        return [_with_score(documents[each["corpus_id"]], each["score"]) for each in ranked]


class PairlightCrossEncoder(BaseCrossEncoder):
    """Scores pairs of a query and a document, for `CrossEncoderReranker`."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        scores = [0.0] * len(text_pairs)
        for query in dict.fromkeys(left for left, _ in text_pairs):
            numbers = [i for i, (left, _) in enumerate(text_pairs) if left == query]
            for each in self.matcher.rank(query, [text_pairs[i][1] for i in numbers]):
                scores[numbers[each["corpus_id"]]] = each["score"]
        return scores


def _with_score(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
