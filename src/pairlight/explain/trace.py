"""Records a forward pass layer by layer, and repeats it with edited outputs.

Both go through `pairlight.layers.tracing`, so neither the model nor other threads that use it are affected.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pairlight.layers.backends import array_namespace
from pairlight.layers.layer import Layer, is_array
from pairlight.layers.tracing import tracing
from pairlight.layers.types import Array, Grid, Seq, Tokens
from pairlight.models.base import PairModel

LayerType = TypeVar("LayerType", bound=Layer)
Edit = Callable[[Layer, tuple[Any, ...], Any], Any]  # layer, arguments, output -> the output to use instead


@dataclass(frozen=True)
class LayerCall:
    """One call of a layer."""

    layer: Layer
    args: tuple[Any, ...]
    output: Any
    notes: tuple[Any, ...] = ()  # what the layer passed to `tracing.note`


@dataclass(frozen=True)
class Trace:
    """The record of one forward pass with one pair."""

    model: PairModel
    left: Tokens
    right: Tokens
    score: float
    calls: list[LayerCall]  # in the order in which they returned, so that a layer follows the layers inside it

    def calls_of(self, kind: type[LayerType]) -> Iterator[tuple[LayerType, LayerCall]]:
        """The calls of all layers of this type."""
        return ((call.layer, call) for call in self.calls if isinstance(call.layer, kind))


class RecordingTrace:
    """A LayerTrace that records the calls of all layers."""

    def __init__(self) -> None:
        self.calls: list[LayerCall] = []
        self._notes: list[list[Any]] = []  # one list for each call that has not returned yet

    def watches(self, layer: Layer) -> bool:
        return True

    def call(self, layer: Layer, args: tuple[Any, ...]) -> Any:
        self._notes.append([])
        output = layer.forward(*args)
        self.calls.append(LayerCall(layer, args, output, tuple(self._notes.pop())))
        return output

    def note(self, layer: Layer, value: Any) -> None:
        self._notes[-1].append(value)


class ReplayTrace:
    """A LayerTrace that repeats a recorded pass with copies of its pair and edits the outputs of some layers.

    The edited layers and the layers before them return their recorded outputs instead of computing them again.
    """

    def __init__(self, trace: Trace, layers: Collection[Layer], copies: int, edit: Edit) -> None:
        self.model, self.layers, self.edit = trace.model, layers, edit
        self.left, self.right = repeat_tokens(trace.left, copies), repeat_tokens(trace.right, copies)
        self._recorded = recorded_outputs(trace, layers, copies)

    def scores(self) -> Array:
        """The score of every copy: [copies]."""
        with tracing(self):
            s: Array = self.model(self.left, self.right)
        return s

    def watches(self, layer: Layer) -> bool:
        return layer in self.layers or layer in self._recorded

    def call(self, layer: Layer, args: tuple[Any, ...]) -> Any:
        outputs = self._recorded.get(layer)
        output = outputs.pop(0) if outputs else layer.forward(*args)
        return self.edit(layer, args, output) if layer in self.layers else output

    def note(self, layer: Layer, value: Any) -> None:
        pass


def trace_pair(model: PairModel, left: Tokens, right: Tokens) -> Trace:
    """Score one pair and record the arguments and the output of every layer."""
    recording = RecordingTrace()
    with array_namespace(left.ids).no_grad(), tracing(recording):
        score = float(model(left, right)[0])
    return Trace(model, left, right, score, recording.calls)


def differentiable(model: PairModel) -> PairModel:
    """The model itself; a copy if its weights were created in inference mode, because these have no gradients."""
    if not any(hasattr(array, "is_inference") and array.is_inference() for _, array in model.named_arrays()):
        return model
    return deepcopy(model)


def edited_scores(trace: Trace, layer: Layer, change: Callable[[Array], Array], copies: int) -> list[float]:
    """The scores of copies of the pair, with the output of a layer changed.   x[copies, ..] -> [copies]"""
    xp = array_namespace(trace.left.ids)

    def edit(_: Layer, __: tuple[Any, ...], output: Any) -> Any:
        return change(xp.copy(output)) if is_array(output) else replace(output, x=change(xp.copy(output.x)))

    with xp.no_grad():
        scores: list[float] = ReplayTrace(trace, [layer], copies, edit).scores().tolist()
    return scores


def recorded_outputs(trace: Trace, layers: Collection[Layer], copies: int) -> dict[Layer, list[Any]]:
    """The outputs of these layers and of the layers before them, in the order of the calls of each layer."""
    last = max((number for number, call in enumerate(trace.calls) if call.layer in layers), default=-1)
    outputs: dict[Layer, list[Any]] = {}
    for call in trace.calls[: last + 1]:
        outputs.setdefault(call.layer, []).append(call.output)
    return {
        layer: [_repeat_output(output, copies) for output in outputs[layer]]
        for layer in _outermost(trace.model, layers, outputs)
    }


def embedding_layers(trace: Trace) -> list[Layer]:
    """The innermost layers that take tokens and return sequences: those where words become vectors.

    Those of the evidence are not among them.
    """
    own = set(trace.model.without_evidence.all_layers())
    found = {
        call.layer
        for call in trace.calls
        if call.layer in own
        and any(isinstance(arg, Tokens) for arg in call.args)
        and all(isinstance(output, Seq) for output in output_list(call.output))
    }
    return [layer for layer in found if not any(inner in found for inner in layer.all_layers() if inner is not layer)]


def interaction_call(trace: Trace) -> LayerCall | None:
    """The call that compares the positions of both texts: of the layer `interact`, else the first that makes a grid."""
    model = trace.model.without_evidence
    named, own = getattr(model, "interact", None), set(model.all_layers())
    grids = [call for call in trace.calls if isinstance(call.output, Grid) and call.layer in own]
    by_name = [call for call in grids if call.layer is named]
    by_type = [call for call in grids if len(call.args) == 2 and all(isinstance(arg, Seq) for arg in call.args)]
    return next(iter(by_name or by_type), None)


def repeat_tokens(tokens: Tokens, copies: int) -> Tokens:
    xp = array_namespace(tokens.ids)
    joins = None if tokens.joins is None else xp.tile(tokens.joins, copies)
    subwords = None if tokens.subwords is None else repeat_tokens(tokens.subwords, copies)
    ids, mask = xp.tile(tokens.ids, copies), xp.tile(tokens.mask, copies)
    return replace(tokens, ids=ids, mask=mask, joins=joins, subwords=subwords)


def output_list(output: Any) -> list[Any]:
    return list(output) if isinstance(output, (list, tuple)) else [output]


def _outermost(layer: Layer, targets: Collection[Layer], outputs: Mapping[Layer, list[Any]]) -> Iterator[Layer]:
    """The layers to replay: the targets, and the outermost other layers whose outputs are sequences or grids."""
    for child in layer.children():
        contains_target = any(inner in targets for inner in child.all_layers())
        if child in outputs and (child in targets or (not contains_target and all(map(_is_of_pair, outputs[child])))):
            yield child
        else:
            yield from _outermost(child, targets, outputs)


def _is_of_pair(output: Any) -> bool:
    return all(isinstance(each, (Seq, Grid)) and len(each.x) == 1 for each in output_list(output))


def _repeat_output(output: Any, copies: int) -> Any:
    if is_array(output):
        return array_namespace(output).broadcast_to(output, (copies, *output.shape[1:]))
    if isinstance(output, (list, tuple)):
        return type(output)([_repeat_output(each, copies) for each in output])
    return replace(output, **{name: _repeat_output(each, copies) for name, each in vars(output).items()})
