"""A model folder names the static vectors it needs, can bring them along, and is refused with others."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pairlight import Matcher
from pairlight.core.errors import InputError
from pairlight.text.subwords import SUBWORD_FOLDER, subword_digest
from records import change_record
from toy_pairs import overlap

PAIR = ("where is my parcel", "the tracking page shows where your delivery is")
WITHOUT_PACKAGE = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "wordllama" else found(name, *rest)
from pairlight import InputError, Matcher
try:
    print(float(Matcher.load(sys.argv[1]).predict([(sys.argv[2], sys.argv[3])])[0]))
except InputError as error:
    print(error)
"""


@pytest.fixture(scope="module", params=["late-interaction", "mv-lstm"])
def matcher(request: pytest.FixtureRequest) -> Matcher:
    return Matcher(request.param).fit(overlap(8, seed=0), overlap(4, seed=1), epochs=1, init=None, progress=False)


def without_package(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PACKAGE, str(folder), *PAIR], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_folder_stores_the_checksum_of_the_vectors_and_not_the_vectors(matcher, tmp_path):
    matcher.save(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["subwords"] == subword_digest()
    assert not (tmp_path / SUBWORD_FOLDER).exists()
    assert "package wordllama" in without_package(tmp_path)


def test_a_folder_with_its_vectors_needs_no_package(matcher, tmp_path):
    matcher.save(tmp_path, include_vectors=True)
    assert float(without_package(tmp_path)) == pytest.approx(float(matcher.predict([PAIR])[0]), abs=1e-5)


def test_a_folder_that_needs_other_vectors_is_refused(matcher, tmp_path):
    matcher.save(tmp_path)
    change_record(tmp_path / "config.json", subwords="0" * 64)
    with pytest.raises(InputError, match="other subword vectors"):
        Matcher.load(tmp_path)


def test_only_vectors_of_training_texts_are_trained_and_saved(tmp_path):
    pairs = overlap(8, seed=0)
    tuned = Matcher().fit(pairs, overlap(4, seed=1), epochs=2, init=None, progress=False)
    rows = tuned.scorer.model.embed.rows.numpy()
    ids = tuned.scorer.token_ids(pairs.texts).ids
    assert rows.tolist() == np.unique(ids).tolist()
    tuned.save(tmp_path)
    loaded = Matcher.load(tmp_path)
    assert np.array_equal(loaded.predict([PAIR]), tuned.predict([PAIR]))
    frozen = Matcher().fit(pairs, overlap(4, seed=1), epochs=1, init=None, freeze=True, progress=False)
    assert frozen.scorer.model.embed.rows is None
    continued = Matcher().fit(overlap(8, seed=5), init=tmp_path, epochs=1, progress=False)
    assert set(rows) <= set(continued.scorer.model.embed.rows.numpy())
