"""Large tables in blocks: score, encode and index them, each block exactly once, on one machine or several."""
