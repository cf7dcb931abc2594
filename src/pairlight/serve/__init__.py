"""HTTP over models and an index: reranking as other services offer it, search, explanations and a search page."""
