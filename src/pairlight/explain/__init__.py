"""Explanations of scores as plain data, and how they are rendered."""
