"""The kernels as PyTorch functions, each with a reference implementation in plain PyTorch."""
