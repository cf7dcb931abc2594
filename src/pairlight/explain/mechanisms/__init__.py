"""How each type of layer is explained; models are explained through the layers they are made of."""

from pairlight.explain.mechanisms.attention import explain_alignment, explain_attention_gates, explain_idf_softmax
from pairlight.explain.mechanisms.char_ngrams import explain_ngrams, explain_windows
from pairlight.explain.mechanisms.counting import explain_bins, explain_kernels
from pairlight.explain.mechanisms.evidence import explain_features
from pairlight.explain.mechanisms.findings import Findings, Mechanism, TracedPair
from pairlight.explain.mechanisms.lexical import explain_bm25, explain_histograms
from pairlight.explain.mechanisms.pooling import explain_conv_pool, explain_grid_pool
from pairlight.explain.mechanisms.spatial_gru import explain_scan
from pairlight.explain.mechanisms.topics import explain_topics
from pairlight.layers.alignment import SoftAlignment
from pairlight.layers.bm25 import BM25Score
from pairlight.layers.char_ngrams import CharNgramEmbedding
from pairlight.layers.conv_pool import GridConvPoolCNN
from pairlight.layers.evidence import PairFeatures
from pairlight.layers.grid_pool import GridPool
from pairlight.layers.histogram import BinWeights, Histogram
from pairlight.layers.idf import IdfGate, IdfSoftmax
from pairlight.layers.kernel_pooling import KernelPooling
from pairlight.layers.layer import Layer
from pairlight.layers.spatial_gru import SpatialGRU
from pairlight.layers.topics import TopicPatches
from pairlight.layers.window_max import WindowMax

# A layer is explained by the entry of its own type, otherwise by that of its nearest base class.
MECHANISMS: dict[type[Layer], Mechanism | None] = {
    BM25Score: explain_bm25,
    BinWeights: explain_bins,
    CharNgramEmbedding: explain_ngrams,
    GridConvPoolCNN: explain_conv_pool,
    GridPool: explain_grid_pool,
    Histogram: explain_histograms,
    IdfGate: None,  # part of the histograms' table
    IdfSoftmax: explain_idf_softmax,
    KernelPooling: explain_kernels,
    PairFeatures: explain_features,
    SoftAlignment: explain_alignment,
    SpatialGRU: explain_scan,
    TopicPatches: explain_topics,
    WindowMax: explain_windows,
}


def explain_layers(pair: TracedPair) -> Findings:
    """Collect what the mechanisms of all layers find."""
    findings = Findings()
    for call in pair.trace.calls:
        mechanism = next((MECHANISMS[kind] for kind in type(call.layer).__mro__ if kind in MECHANISMS), None)
        if mechanism is not None:
            mechanism(pair, call.layer, call, findings)
    explain_attention_gates(pair, findings)
    return findings
