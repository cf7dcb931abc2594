"""The few loops that need native speed, each beside its plain PyTorch twin."""

from pairlight.kernels.autograd.kmax import kmax
from pairlight.kernels.native.library import Status, status
from pairlight.kernels.autograd.lstm import bilstm, lstm
from pairlight.kernels.autograd.product_kmax import product_kmax
from pairlight.kernels.autograd.spatial_gru import GridStates, GruWeights, spatial_gru, spatial_gru_states

__all__ = [
    "GridStates",
    "GruWeights",
    "Status",
    "bilstm",
    "kmax",
    "lstm",
    "product_kmax",
    "spatial_gru",
    "spatial_gru_states",
    "status",
]
