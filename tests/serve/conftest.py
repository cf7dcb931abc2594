"""Two tiny models and a server with an index, shared by the tests of serving."""

import pytest

from pairlight import Document, Index, Matcher
from serve.server import running
from toy_pairs import overlap

TEXTS = {
    "returns": "returns are free within thirty days",
    "tracking": "the tracking page shows where your delivery is",
    "payment": "you can pay with any credit card or by bank transfer",
    "password": "open the sign-in page and choose forgotten password",
}


def train(name, folder, seed=1):
    pairs = overlap(30, seed=0)
    options = {"init": None, "baseline": False, "progress": False, "epochs": 1, "seed": seed}
    if name != "late-interaction":
        options["vectors"] = "none"
    Matcher(name).fit(pairs, dev=pairs, **options).save(folder)
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [train("late-interaction", folder / "late"), train("mv-lstm", folder / "mv")]


def make_index(folder, model):
    documents = [Document(name, text, {"lang": "en"}) for name, text in TEXTS.items()]
    Index.create(folder, documents, model=model).close()
    return folder


@pytest.fixture(scope="session")
def server(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    index = make_index(folder / "index", models[0])
    with running(folder, *models, "--index", index) as started:
        yield started
