"""Metrics of ranking lists and labeled pairs, calibration, TREC files and significance tests."""
