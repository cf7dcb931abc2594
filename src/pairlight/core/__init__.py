"""Errors, files, Markdown tables, progress reports and memory settings, used by all other packages."""
