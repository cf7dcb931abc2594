"""The base class of layers: names of the state, loading, modes and tracing."""

import copy
import threading
from typing import Any

import numpy as np
import pytest
import torch

from layers.toy import Recorder
from pairlight.layers.backends import use_backend
from pairlight.layers.basic import Dropout, Linear, Sequential, Tanh
from pairlight.layers.layer import Layer, buffer, parameter
from pairlight.layers.tracing import active_trace, is_watched, note, tracing


class Block(Layer):
    def __init__(self) -> None:
        self.first = Linear(2, 2)
        self.rest = [Sequential(Tanh(), Linear(2, 2, bias=False)), Dropout(0.5)]
        self.scale = parameter(2, bound=0)
        self.counts = buffer(3, fill=1, dtype="int64")
        self.size = 2

    def forward(self, x: Any) -> Any:
        note(self, "seen")
        for layer in self.rest:
            x = layer(x)
        return self.first(x) + self.scale


NAMES = ["scale", "counts", "first.weight", "first.bias", "rest.0.1.weight"]


def test_the_state_is_named_after_attributes_and_positions_in_lists():
    block = Block()
    assert list(block.state_dict()) == NAMES
    assert [name for name, _ in block.named_parameters()] == [name for name in NAMES if name != "counts"]
    assert len(list(block.buffers())) == 1
    assert [name for name, _ in block.named_layers()] == ["", "first", "rest.0", "rest.0.0", "rest.0.1", "rest.1"]


def test_the_state_shares_memory_with_the_layer_and_has_no_gradient():
    block = Block()
    state = block.state_dict()
    state["first.weight"].fill_(7)
    assert (block.first.weight == 7).all()
    assert not any(array.requires_grad for array in state.values())


@pytest.mark.parametrize("of_numpy", [False, True])
def test_loading_copies_values_from_pytorch_and_numpy(of_numpy):
    a, b = Block(), Block()
    state = {name: array.numpy() if of_numpy else array for name, array in a.state_dict().items()}
    for array in state.values() if of_numpy else []:
        array.setflags(write=False)  # as in a memory-mapped file
    b.load_state_dict(state)
    assert all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))
    a.first.weight.data.fill_(9)
    assert not (b.first.weight == 9).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("scale"), "scale is missing"),
        (lambda state: state.update(more=state["scale"]), "more is unknown"),
        (lambda state: state.update(scale=torch.zeros(3)), r"scale has shape \[3\], not \[2\]"),
        (lambda state: state.clear(), "scale is missing; counts is missing; first.weight is missing and 2 more"),
    ],
)
def test_a_state_that_does_not_fit_is_rejected(change, message):
    state = Block().state_dict()
    change(state)
    with pytest.raises(ValueError, match=message):
        Block().load_state_dict(state)


def test_double_converts_floating_point_arrays_only():
    block = Block().double()
    assert {array.dtype for _, array in block.named_parameters()} == {torch.float64}
    assert block.counts.dtype == torch.int64


def test_train_and_eval_reach_all_layers():
    block = Block().eval()
    assert not any(layer.training for layer in block.all_layers())
    x = torch.ones(1, 2)
    assert torch.equal(block(x), block(x))
    assert all(layer.training for layer in block.train().all_layers())


def test_a_deep_copy_has_its_own_arrays():
    block = Block()
    other = copy.deepcopy(block)
    other.first.weight.data.fill_(9)
    assert not (block.first.weight == 9).any()


def test_on_numpy_the_same_names_hold_numpy_arrays():
    with use_backend("numpy"):
        block = Block().eval()
    assert list(block.state_dict()) == NAMES
    assert all(isinstance(array, np.ndarray) for array in block.state_dict().values())
    block.load_state_dict({name: array.numpy() for name, array in Block().state_dict().items()})
    assert block(np.ones((1, 2), np.float32)).shape == (1, 2)


def test_a_layer_without_forward_is_named_in_the_error():
    class Empty(Layer):
        pass

    with pytest.raises(TypeError, match="Empty defines no forward"):
        Empty()(1)


def test_a_trace_sees_the_calls_and_notes_of_watched_layers_only():
    block = Block().eval()
    trace = Recorder(block.first, block)
    x = torch.ones(1, 2)
    with tracing(trace):
        assert is_watched(block.first)
        assert not is_watched(block.rest[0])
        out = block(x)
    assert active_trace() is None
    assert [output.shape for output in trace.outputs] == [(1, 2), (1, 2)]
    assert trace.outputs[-1] is out
    assert trace.notes == ["seen"]
    block(x)
    assert len(trace.outputs) == 2


def test_a_trace_may_replace_the_output_of_a_layer():
    class Zero(Recorder):
        def call(self, layer: Layer, args: tuple[Any, ...]) -> Any:
            return torch.zeros_like(layer.forward(*args))

    block = Block().eval()
    with tracing(Zero(block.first)):
        out = block(torch.ones(1, 2))
    assert (out == block.scale).all()


def test_other_threads_run_the_same_layers_untraced():
    block = Block().eval()
    trace = Recorder(block)
    with tracing(trace):
        thread = threading.Thread(target=block, args=(torch.ones(1, 2),))
        thread.start()
        thread.join()
    assert not trace.outputs
