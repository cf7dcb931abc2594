"""The compiled kernels on NumPy arrays, each with a NumPy reference implementation; PyTorch is not imported."""
