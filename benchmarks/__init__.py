"""Benchmarks: speed and memory of pairlight on this machine, side by side with alternatives."""
