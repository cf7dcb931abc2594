"""Errors, files, progress and memory: what every other package may use."""
