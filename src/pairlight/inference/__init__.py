"""Scoring with a trained model: batching, stored encodings, model folders."""
