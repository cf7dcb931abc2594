"""Explanations as terminal text, images and web pages."""
