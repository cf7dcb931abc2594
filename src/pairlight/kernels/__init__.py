"""The loops that are too slow in NumPy or PyTorch, implemented in C++.

`pairlight.kernels.native` calls the compiled library on NumPy arrays and does not import PyTorch.
`pairlight.kernels.autograd` builds differentiable PyTorch functions on top of it.
"""
