"""Observing a forward pass: the trace that is active in this context receives the calls of the layers it watches."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pairlight.layers.layer import Layer


class LayerTrace(Protocol):
    """The interface of a trace. Other threads and contexts run the same layers untraced."""

    def watches(self, layer: "Layer") -> bool:
        """Whether calls of this layer go through `call`. A watched layer always runs by itself, never fused."""
        ...

    def call(self, layer: "Layer", args: tuple[Any, ...]) -> Any:
        """Return the output of the layer for these arguments: `layer.forward(*args)` or a replacement."""
        ...

    def note(self, layer: "Layer", value: Any) -> None:
        """Receive something else that a watched layer computed, such as its parse trees."""
        ...


_TRACE: ContextVar[LayerTrace | None] = ContextVar("trace", default=None)


def active_trace() -> LayerTrace | None:
    return _TRACE.get()


def is_watched(*layers: "Layer") -> bool:
    """Whether the active trace watches any of these layers."""
    trace = _TRACE.get()
    return trace is not None and any(trace.watches(layer) for layer in layers)


def note(layer: "Layer", value: Any) -> None:
    """Pass a value to the active trace if it watches the layer."""
    trace = _TRACE.get()
    if trace is not None and trace.watches(layer):
        trace.note(layer, value)


@contextmanager
def tracing(trace: LayerTrace) -> Iterator[None]:
    """Make the trace active for the duration of the block."""
    token = _TRACE.set(trace)
    try:
        yield
    finally:
        _TRACE.reset(token)
