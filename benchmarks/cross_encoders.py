"""Small cross-encoders with random weights, in transformers and as int8 in onnxruntime."""

import importlib.util
import logging
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pairlight.data.batching import batches_by_length
from pairlight.data.pairs import Pairs
from pairlight.text.tokenizer import TokenizedTexts

SHAPES = {
    "TinyBERT (L2-H128)": {"layers": 2, "hidden": 128, "heads": 2},
    "MiniLM (L6-H384)": {"layers": 6, "hidden": 384, "heads": 12},
}
NEEDED = ("transformers", "onnxruntime", "onnx")
_BATCH = 32  # as usual for cross-encoders
_VOCAB = 30_522
_CLS, _SEP, _FIRST = 101, 102, 1000
_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]

Batch = dict[str, torch.Tensor]


def missing() -> str | None:
    """Why cross-encoders cannot be measured on this machine; None if they can."""
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"{', '.join(absent)} not installed: pip install 'pairlight[bench]'" if absent else None


def cross_encoder(shape: str) -> Any:
    """A model of this shape with random weights."""
    from transformers import BertConfig, BertForSequenceClassification

    size = SHAPES[shape]
    config = BertConfig(
        vocab_size=_VOCAB,
        hidden_size=size["hidden"],
        num_hidden_layers=size["layers"],
        num_attention_heads=size["heads"],
        intermediate_size=4 * size["hidden"],
        num_labels=1,
    )
    return BertForSequenceClassification(config).eval()


def batches(texts: TokenizedTexts, pairs: Pairs) -> list[Batch]:
    """[CLS] left [SEP] right [SEP], with pairs of similar length together.

    Every word is one token. The tokenizer of a cross-encoder would make more of them, so this is in its favor.
    """
    width = texts.lengths[pairs.left] + texts.lengths[pairs.right] + 3
    made = []
    for some in batches_by_length(width, _BATCH):
        ids = np.zeros((len(some), width[some].max()), np.int64)
        types = np.zeros_like(ids)
        for row, pair in enumerate(some):
            left, right = (texts.ids[texts.start[t] : texts.start[t + 1]] for t in _sides(pairs, pair))
            words = [np.array([_CLS]), _pieces(left), np.array([_SEP]), _pieces(right), np.array([_SEP])]
            ids[row, : width[pair]] = np.concatenate(words)
            types[row, len(left) + 2 : width[pair]] = 1
        columns = [torch.from_numpy(each) for each in (ids, (ids > 0).astype(np.int64), types)]
        made.append(dict(zip(_INPUTS, columns, strict=True)))
    return made


def score(model: Any, made: list[Batch]) -> None:
    with torch.inference_mode():
        for batch in made:
            model(**batch)


def train(model: Any) -> Callable[[Batch], None]:
    """A function that makes one training step."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)

    def step(batch: Batch) -> None:
        optimizer.zero_grad()
        torch.nn.functional.softplus(-model(**batch).logits).mean().backward()
        optimizer.step()

    return step


def int8(model: Any, batch: Batch) -> Callable[[list[Batch]], None]:
    """A function that scores with the same model, its weights in 8 bits, on one thread of onnxruntime."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    axes = {name: {0: "pairs", 1: "words"} for name in _INPUTS}
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        # The warnings do not concern this model: a test compares its scores.
        warnings.simplefilter("ignore")
        logging.getLogger().setLevel(logging.ERROR)
        whole, small = Path(name, "model.onnx"), Path(name, "int8.onnx")
        torch.onnx.export(
            model, tuple(batch[each] for each in _INPUTS), str(whole), dynamo=False, opset_version=17,
            input_names=_INPUTS, output_names=["logits"], dynamic_axes=axes,
        )  # fmt: skip
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(small.read_bytes(), options, providers=["CPUExecutionProvider"])

    def run(made: list[Batch]) -> list[np.ndarray]:
        return [session.run(None, {name: x.numpy() for name, x in each.items()})[0] for each in made]

    return run


def _sides(pairs: Pairs, pair: int) -> tuple[int, int]:
    return int(pairs.left[pair]), int(pairs.right[pair])


def _pieces(ids: np.ndarray) -> np.ndarray:
    return ids.astype(np.int64) % (_VOCAB - _FIRST) + _FIRST
