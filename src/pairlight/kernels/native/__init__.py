"""The compiled kernels, called on raw buffers; nothing here imports PyTorch."""
