"""Every model runs where PyTorch is not installed."""

import subprocess
import sys

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
from pairlight.layers.backends import use_backend
from pairlight.layers.collate import collate
from pairlight.models import MODELS, build, model_class
from pairlight.models.settings import model_settings
from pairlight.text.tokenizer import TokenizedTexts

subwords = TokenizedTexts(np.array([20, 30, 40, 50, 20, 60], np.int32), np.array([0, 2, 6]), 0)
ngrams = np.arange(24).reshape(8, 3) % 9
texts = TokenizedTexts(np.array([2, 3, 4, 2, 5], np.int32), np.array([0, 2, 5]), 0, ngrams, subwords=subwords)
for name in MODELS:
    evidence = {"evidence": True} if model_class(name).takes_evidence else {}
    assert evidence.keys() <= model_settings(model_class(name)).keys()
    with use_backend("numpy"):
        model = build(name, 9, **evidence).eval()
    rng = np.random.default_rng(0)
    model.load_state_dict(
        {
            name: abs(rng.normal(0, 0.4, array.shape)) if array.dtype == np.float32 else array
            for name, array in model.named_arrays()
        }
    )
    scores = model(collate(texts, np.array([0])), collate(texts, np.array([1, 0])))
    assert scores.shape == (2,) and np.isfinite(scores).all() and scores[0] != scores[1], (name, scores)
"""


def test_every_model_is_built_and_runs_where_torch_cannot_be_imported():
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH], check=True)
