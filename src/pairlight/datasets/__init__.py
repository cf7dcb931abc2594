"""Named datasets, and the papers' protocols for making datasets."""
