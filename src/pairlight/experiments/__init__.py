"""Experiments: run specifications and results, executors, and the commands compare, tune, reproduce and demo."""
