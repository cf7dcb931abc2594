"""The same model folder runs in PyTorch and without it: equal scores, encodings and explanations for every model."""

import subprocess
import sys

import numpy as np
import pytest

from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.inference.model_folder import load_model
from pairlight.layers.backends import inference_backend, use_backend
from pairlight.models import MODELS, model_class
from pairlight.models.base import DualEncoder
from reference import CASES
from toy_pairs import WORDS, overlap

pytestmark = pytest.mark.filterwarnings("ignore:.*truncated")

SETTINGS = {name: next(case.settings for case in CASES if case.name == name) for name in MODELS}
QUERY = "bama delo biri"
TEXTS = [*overlap(8, seed=3).texts, "bama", " ".join(WORDS * 4), "unknown words of its own", "bama unknown"]

GROWTH = """
import sys
from pathlib import Path
sys.modules["torch"] = None
from pairlight import Matcher

def megabytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

pair = ("where is my parcel", "the tracking page shows where your delivery is")
matchers = Matcher.load("qa-small"), Matcher("mv-lstm")
for matcher in matchers:
    matcher.scorer.token_ids(pair)
before = megabytes()
for matcher in matchers:
    matcher.predict([pair])
print(megabytes() - before)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, request):
    """The folder of a model after one epoch."""
    name = request.param
    folder = tmp_path_factory.mktemp("light") / name
    options = {"vectors": "none", "epochs": 1, "init": None, "baseline": False, "progress": False}
    Matcher(name, **SETTINGS[name]).fit(overlap(12, seed=0), **options).save(folder)
    return folder


every_model = pytest.mark.parametrize("folder", MODELS, indirect=True)


def both(folder, monkeypatch) -> tuple[Matcher, Matcher]:
    matchers = []
    for runtime in ("torch", "light"):
        monkeypatch.setenv("PAIRLIGHT_RUNTIME", runtime)
        matchers.append(Matcher.load(folder))
    return matchers[0], matchers[1]


@every_model
def test_a_model_folder_has_the_same_scores_encodings_and_explanations_without_pytorch(folder, monkeypatch):
    torch, light = both(folder, monkeypatch)
    assert all(type(array) is np.ndarray for _, array in light.scorer.model.named_arrays())
    pairs = [(QUERY, text) for text in TEXTS] + [(text, QUERY) for text in TEXTS]
    np.testing.assert_allclose(light.predict(pairs), torch.predict(pairs), rtol=1e-5, atol=1e-5)
    assert light.scorer.fingerprint() == torch.scorer.fingerprint()
    if issubclass(model_class(torch.name), DualEncoder):
        encodings = torch.encode(TEXTS), light.encode(TEXTS)
        for each in encodings:
            expected = torch.score_encoded(QUERY, encodings[0])
            np.testing.assert_allclose(light.score_encoded(QUERY, each), expected, rtol=1e-5, atol=1e-5)
    explained, expected = (matcher.explain(QUERY, TEXTS[0]) for matcher in (light, torch))
    assert explained.score == pytest.approx(expected.score, abs=1e-5)
    leave_one_out = explained.contributions_by("leave-one-out")
    assert leave_one_out.right == pytest.approx(expected.contributions_by("leave-one-out").right, abs=1e-4)
    assert explained.contributions_by("integrated-gradients") is None
    assert any("pip install 'pairlight[train]'" in note for note in explained.notes)
    assert [grid.name for grid in explained.grids] == [grid.name for grid in expected.grids]
    assert [path.cells for path in explained.paths] == [path.cells for path in expected.paths]
    assert [each.name for each in explained.weights] == [each.name for each in expected.weights]


@pytest.mark.parametrize("folder", ["mv-lstm"], indirect=True)
def test_a_model_that_runs_without_pytorch_is_saved_as_the_same_files(folder, monkeypatch, tmp_path):
    _, light = both(folder, monkeypatch)
    light.save(tmp_path / "copy")
    for name in ("model.safetensors", "tokenizer.json"):
        assert (tmp_path / "copy" / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize("name", ["late-interaction", "mv-lstm", "match-srnn", "dssm"])
def test_an_untrained_model_has_the_same_scores_without_pytorch(name, monkeypatch):
    scores = []
    for runtime in ("torch", "light"):
        monkeypatch.setenv("PAIRLIGHT_RUNTIME", runtime)
        scores.append(Matcher(name).predict([(QUERY, text) for text in TEXTS]))
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("folder", ["mv-lstm"], indirect=True)
def test_training_continues_from_a_folder_whatever_the_runtime(folder, monkeypatch):
    monkeypatch.setenv("PAIRLIGHT_RUNTIME", "light")
    matcher = Matcher("mv-lstm", **SETTINGS["mv-lstm"])
    matcher.fit(overlap(12, seed=0), init=folder, vectors="none", epochs=1, baseline=False, progress=False)
    assert np.isfinite(matcher.predict([(QUERY, TEXTS[0])])).all()


def test_the_runtime_is_chosen_by_the_environment(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.delenv("PAIRLIGHT_RUNTIME", raising=False)
    assert inference_backend() == "torch"
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert inference_backend() == "numpy"
    monkeypatch.setenv("PAIRLIGHT_RUNTIME", "heavy")
    with pytest.raises(InputError, match="PAIRLIGHT_RUNTIME=heavy is not known: use light or torch, or unset it"):
        inference_backend()
    with use_backend("torch"):  # what is built is not affected
        assert load_model("qa-small", "numpy").name == "late-interaction"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_first_score_does_not_take_the_memory_of_all_static_vectors():
    output = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True).stdout
    assert float(output) < 16  # MB; a table of all subwords takes 31, and each of the two models has one
