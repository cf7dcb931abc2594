"""Benchmarks: speed and memory of pairlight on this machine, side by side with alternatives."""

import os

# Before NumPy is imported. Everything is measured on one core, where further threads of OpenBLAS only wait for each
# other: beside other work, a scan of vectors took 30 times as much CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
