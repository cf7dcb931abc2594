"""Tables of text pairs and collections of texts: reading, splitting, mining negatives, and batching."""
