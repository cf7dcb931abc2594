"""Standard layers: linear, convolution, dropout, activations and sequential composition."""

from collections.abc import Iterator
from typing import Any

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, parameter


class Linear(Layer):
    """y = W x + b.   [..., D] -> [..., outputs]"""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        self.weight = parameter(outputs, inputs, bound=inputs**-0.5)
        self.bias = parameter(outputs, bound=inputs**-0.5) if bias else None

    def forward(self, x: Any) -> Any:
        return array_namespace(x).linear(x, self.weight, self.bias)


class Conv2d(Layer):
    """y_ij = sum over a, b of W_ab · x_i+a,j+b + bias.   [B, C, L, R] -> [B, maps, L', R']"""

    def __init__(self, channels: int, maps: int, size: int | tuple[int, int], padding: int = 0) -> None:
        rows, columns = (size, size) if isinstance(size, int) else size
        bound = (channels * rows * columns) ** -0.5
        self.padding = padding
        self.weight = parameter(maps, channels, rows, columns, bound=bound)
        self.bias = parameter(maps, bound=bound)

    def forward(self, x: Any) -> Any:
        return array_namespace(x).conv2d(x, self.weight, self.bias, self.padding)


class Dropout(Layer):
    """In training, sets entries to zero with probability p and divides the others by 1 - p."""

    def __init__(self, p: float) -> None:
        self.p = p

    def forward(self, x: Any) -> Any:
        return array_namespace(x).dropout(x, self.p, self.training)


class Tanh(Layer):
    def forward(self, x: Any) -> Any:
        return array_namespace(x).tanh(x)


class ReLU(Layer):
    def forward(self, x: Any) -> Any:
        return array_namespace(x).relu(x)


class Sigmoid(Layer):
    def forward(self, x: Any) -> Any:
        return array_namespace(x).sigmoid(x)


class Identity(Layer):
    def forward(self, x: Any) -> Any:
        return x


class Sequential(Layer):
    """Applies layers in order; they are named 0, 1, ..."""

    def __init__(self, *steps: Layer) -> None:
        self.steps = list(steps)

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        return ((str(i), step) for i, step in enumerate(self.steps))

    def __getitem__(self, i: int) -> Layer:
        return self.steps[i]

    def forward(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x
