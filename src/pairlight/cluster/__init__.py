"""The same jobs on Ray: batch scoring, encoding and indexing, experiments and training on several machines."""
