"""Random requests, valid and invalid, made from the description of the API, find no fault in a running server."""

import subprocess
import sys
from pathlib import Path

import pytest

from pairlight import Matcher
from serve.conftest import make_index
from serve.server import running
from toy_pairs import overlap

pytestmark = pytest.mark.hard
EXAMPLES = 60  # of each operation
# A description cannot say that two lists must have the same length, so valid requests may be refused.
LEFT_OUT = "positive_data_acceptance"


def test_random_requests_find_no_fault(tmp_path):
    pairs = overlap(30, seed=0)
    matcher = Matcher("late-interaction").fit(pairs, dev=pairs, init=None, baseline=False, progress=False, epochs=1)
    matcher.save(tmp_path / "model")
    index = make_index(tmp_path / "index", tmp_path / "model")
    with running(tmp_path, tmp_path / "model", "--index", index) as server:
        program = Path(sys.executable).with_name("st")
        options = ["--exclude-checks", LEFT_OUT, "--max-examples", str(EXAMPLES), "--seed", "1", "--no-color"]
        command = [program, "run", f"{server.url}/openapi.json", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-6000:]
        assert server.post("/rerank", {"query": "bama", "texts": ["bama", "delo"]}).json[0]["index"] == 0
        assert not [each for each in server.events() if each["event"] == "error"]
