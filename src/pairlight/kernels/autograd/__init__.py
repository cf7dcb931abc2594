"""The kernels as differentiable PyTorch functions, each next to its reference."""
