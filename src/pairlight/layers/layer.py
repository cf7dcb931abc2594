"""The base class of layers and models: named arrays, child layers, and a forward pass that can be traced."""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from pairlight.layers.backends import array_namespace, parameter_namespace
from pairlight.layers.tracing import active_trace


class Layer:
    """A building block of a model: arrays, child layers and a `forward` method.

    Arrays that are attributes form the state of a layer. Those created with `parameter` are trained, the others
    (buffers) are only saved. Children are attributes that are layers or lists of layers. The state is named after the
    attributes: `encode.forwards.weight`, `score.hidden.bias`.
    """

    training = True

    def forward(self, *args: Any) -> Any:
        raise TypeError(f"{type(self).__name__} defines no forward.")

    def __call__(self, *args: Any) -> Any:
        trace = active_trace()
        if trace is None or not trace.watches(self):
            return self.forward(*args)
        return trace.call(self, args)

    # Children

    def named_children(self) -> Iterator[tuple[str, "Layer"]]:
        for name, value in vars(self).items():
            if isinstance(value, Layer):
                yield name, value
            elif isinstance(value, list):
                yield from ((f"{name}.{i}", each) for i, each in enumerate(value) if isinstance(each, Layer))

    def children(self) -> Iterator["Layer"]:
        return (child for _, child in self.named_children())

    def named_layers(self, prefix: str = "") -> Iterator[tuple[str, "Layer"]]:
        """This layer and all below it, each with its name."""
        yield prefix, self
        for name, child in self.named_children():
            yield from child.named_layers(f"{prefix}.{name}" if prefix else name)

    def all_layers(self) -> Iterator["Layer"]:
        return (layer for _, layer in self.named_layers())

    # Arrays

    def named_arrays(self) -> Iterator[tuple[str, Any]]:
        """Parameters and buffers of this layer and all below it."""
        for prefix, layer in self.named_layers():
            for name, value in vars(layer).items():
                if is_array(value):
                    yield (f"{prefix}.{name}" if prefix else name), value

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in self.named_arrays() if is_parameter(value))

    def parameters(self) -> Iterator[Any]:
        return (value for _, value in self.named_parameters())

    def buffers(self) -> Iterator[Any]:
        return (value for _, value in self.named_arrays() if not is_parameter(value))

    def state_dict(self) -> dict[str, Any]:
        """The arrays by name, without gradients; they share memory with those of the layer."""
        return {name: value.detach() if is_parameter(value) else value for name, value in self.named_arrays()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Copy values into the arrays of the same name; all names and shapes must agree."""
        own = dict(self.named_arrays())
        check_state(own, state)
        for name, value in own.items():
            array_namespace(value).copy_into(value, state[name])

    # PyTorch only

    def convert(self, change: Callable[[Any], Any]) -> Self:
        """Apply a function to the data of every array."""
        for layer in self.all_layers():
            for name, value in vars(layer).items():
                if is_parameter(value):
                    value.data = change(value.data)
                elif is_array(value):
                    setattr(layer, name, change(value))
        return self

    def to(self, device: Any) -> Self:
        return self.convert(lambda array: array.to(device))

    def cpu(self) -> Self:
        return self.to("cpu")

    def double(self) -> Self:
        return self.convert(lambda array: array.double() if array.is_floating_point() else array)

    def adjust_start(self) -> None:
        """Change the first weights, after they were set at random; most layers leave them as they are."""

    # Mode

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on (or off) in this layer and all below it."""
        for layer in self.all_layers():
            layer.training = mode
        return self

    def eval(self) -> Self:
        return self.train(False)


def parameter(*shape: int, bound: float = 0.1) -> Any:
    """A trainable array, uniform within ±bound; zeros if the bound is 0."""
    return parameter_namespace().new_parameter(shape, bound)


def embedding_parameter(rows: int, dim: int, padding_id: int) -> Any:
    """A trainable table of vectors from the standard normal distribution; the padding row is zero."""
    return parameter_namespace().new_embedding(rows, dim, padding_id)


def buffer(*shape: int, fill: float = 0.0, dtype: str = "float32") -> Any:
    """An array that is saved with the model and not trained."""
    return parameter_namespace().new_buffer(shape, fill, dtype)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "data_ptr")


def is_parameter(value: Any) -> bool:
    torch = sys.modules.get("torch")  # never imported when a model runs on NumPy only
    return torch is not None and isinstance(value, torch.nn.Parameter)


def check_state(expected: Mapping[str, Any], state: Mapping[str, Any], *, types: bool = False) -> None:
    """Raise an error that lists arrays which are missing, unknown or of another shape, or type of numbers."""
    faults = [f"{name} is missing" for name in expected if name not in state]
    faults += [f"{name} is unknown" for name in state if name not in expected]
    for name, array in expected.items():
        if name in state and tuple(state[name].shape) != tuple(array.shape):
            faults.append(f"{name} has shape {list(state[name].shape)}, not {list(array.shape)}")
        elif name in state and types and _type(state[name]) != _type(array):
            faults.append(f"{name} is {_type(state[name])}, not {_type(array)}")
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ValueError("; ".join(faults[:3]) + more)


def _type(array: Any) -> str:
    """The type of numbers of an array of any library, such as float32."""
    return str(array.dtype).removeprefix("torch.")
