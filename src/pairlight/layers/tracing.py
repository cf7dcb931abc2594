"""Watching a forward pass: a trace that is active in this context sees the calls of the layers it watches."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pairlight.layers.layer import Layer


class LayerTrace(Protocol):
    """What `tracing` takes. Other threads and contexts run the same layers untraced."""

    def watches(self, layer: "Layer") -> bool:
        """Whether this layer's calls go through `call`; fused shortcuts leave a watched layer out."""
        ...

    def call(self, layer: "Layer", args: tuple[Any, ...]) -> Any:
        """The output of the layer for these arguments: `layer.forward(*args)`, or something in its place."""
        ...

    def note(self, layer: "Layer", value: Any) -> None:
        """Take something that a watched layer computed and that is not its output, such as its trees."""
        ...


_TRACE: ContextVar[LayerTrace | None] = ContextVar("trace", default=None)


def active_trace() -> LayerTrace | None:
    return _TRACE.get()


def is_watched(*layers: "Layer") -> bool:
    """Whether the calls of one of these layers are watched."""
    trace = _TRACE.get()
    return trace is not None and any(trace.watches(layer) for layer in layers)


def note(layer: "Layer", value: Any) -> None:
    """Tell the active trace, if it watches the layer."""
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
