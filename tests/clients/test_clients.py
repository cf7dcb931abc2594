"""Clients of other projects call the server unchanged; `make test-clients` makes the environments they run in."""

import json
import subprocess
from pathlib import Path

import pytest

from pairlight import Matcher
from serve.server import running
from toy_pairs import overlap

pytestmark = pytest.mark.clients
ROOT = Path(__file__).parent.parent.parent
BEST = "open the sign-in page and reset the password"
COHERE = ["cohere_v1", "cohere_v2", "cohere_error", "cohere_spans"]
CASES = {
    "clients-cohere5": [
        *COHERE,
        "langchain_cohere",
        "llama_index_tei",
        "llama_index_cohere",
        "haystack_tei",
        "haystack_cohere",
        "rerankers_tei",
        "rerankers_cohere",
        "infinity",
        "langchain_infinity",
        "langchain_jina",
        "haystack_jina",
    ],
    "clients-cohere7": COHERE,
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    pairs = overlap(30, seed=0)
    matcher = Matcher("late-interaction").fit(pairs, dev=pairs, init=None, baseline=False, progress=False, epochs=1)
    matcher.save(folder / "model")
    found = {}
    with running(folder, folder / "model") as server:
        for environment, cases in CASES.items():
            python = ROOT / "build" / environment / "bin" / "python"
            assert python.exists(), "run make test-clients, which makes the environments"
            program = Path(__file__).parent / "program.py"
            done = subprocess.run([python, program, server.url, *cases], capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr
            found[environment] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(("environment", "case"), [(name, case) for name, cases in CASES.items() for case in cases])
def test_a_client_gets_what_it_expects(answers, environment, case):
    found = answers[environment][case]
    assert isinstance(found, list), found
    if case == "cohere_error":
        assert found == [["`documents` cannot be empty: give at least 1.", 400]]
    elif case == "cohere_spans":
        assert any("password" in text for text, _ in found)
    else:
        assert found[0][0] == BEST
        assert len(found) == 2
        assert found[0][1] > found[1][1]
