"""rerankers: a ranker that returns the results of that package."""

from typing import Any

from rerankers.models.ranker import BaseRanker
from rerankers.results import RankedResults, Result
from rerankers.utils import prep_docs

from pairlight.matcher import Matcher


class MatcherRanker(BaseRanker):
    """Ranks with a model folder or a ready-made model: `MatcherRanker("qa-small").rank(query, docs)`."""

    def __init__(self, model_name_or_path: str, verbose: int = 0) -> None:
        self.verbose = verbose
        self.matcher = Matcher.load(model_name_or_path)

    def score(self, query: str, doc: str) -> float:
        return float(self.matcher.rank(query, [doc])[0]["score"])

    def rank(self, query: str, docs: Any, doc_ids: Any = None, metadata: Any = None) -> RankedResults:
        documents = prep_docs(docs, doc_ids, metadata)
        ranked = self.matcher.rank(query, [each.text for each in documents])
        results = [
            Result(document=documents[each["corpus_id"]], score=each["score"], rank=position)
            for position, each in enumerate(ranked, 1)
        ]
        return RankedResults(results=results, query=query, has_scores=True)
