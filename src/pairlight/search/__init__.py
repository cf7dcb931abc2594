"""Search in a collection of texts: first-stage engines, reranking by a model, and the index folder."""
