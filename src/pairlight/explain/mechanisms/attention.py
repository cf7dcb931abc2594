"""Attention gates, idf weights and soft alignment: how much the model attends to each word."""

from pairlight.explain.data import WordWeights
from pairlight.explain.grids import grid_view
from pairlight.explain.mechanisms.findings import Findings, TracedPair, to_floats
from pairlight.explain.trace import LayerCall
from pairlight.layers.alignment import SoftAlignment
from pairlight.layers.embedding import AttentionGate, WordEmbedding
from pairlight.layers.idf import IdfSoftmax


def explain_attention_gates(pair: TracedPair, findings: Findings) -> None:
    """The attention weights of words, for both texts together."""
    # A model may use the weights of a gate without calling it, so they are computed from the embeddings.
    for embedding in (layer for layer in pair.trace.model.all_layers() if isinstance(layer, WordEmbedding)):
        weights: dict[str, tuple[float, ...]] = {}
        for call in (call for call in pair.trace.calls if call.layer is embedding.embedding):
            side = "left" if call.args[0] is pair.trace.left else "right"
            gate = embedding.left_gate if side == "left" else embedding.right_gate
            if isinstance(gate, AttentionGate):
                weights[side] = to_floats(gate.weights(call.output)[0])
        if weights:
            findings.weights.append(WordWeights("attention", weights.get("left"), weights.get("right")))


def explain_idf_softmax(pair: TracedPair, layer: IdfSoftmax, call: LayerCall, findings: Findings) -> None:
    findings.weights.append(WordWeights("idf weight", to_floats(call.output[0])))


def explain_alignment(pair: TracedPair, layer: SoftAlignment, call: LayerCall, findings: Findings) -> None:
    to_right, to_left = layer.weights(call.args[0])
    for name, weights in (
        ("attention of left words to right words", to_right),
        ("attention of right words to left words", to_left),
    ):
        findings.grids.append(grid_view(name, "attention", pair.rows, pair.columns, weights[0]))
