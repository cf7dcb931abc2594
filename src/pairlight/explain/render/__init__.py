"""Renders explanations in the terminal, as images and as HTML pages."""
