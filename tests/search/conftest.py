"""A small collection, an index of it, and the ready-made model, for the tests of search."""

import pytest

from pairlight import Document, Index, Matcher

TEXTS = {
    "returns": "returns are free within thirty days",
    "tracking": "the tracking page shows where your delivery is",
    "payment": "you can pay with any credit card or by bank transfer",
    "password": "open the sign-in page and choose forgotten password",
}


@pytest.fixture(scope="session")
def matcher():
    return Matcher.load("qa-small")


@pytest.fixture
def documents():
    return [Document(name, text, {"lang": "en", "words": len(text.split())}) for name, text in TEXTS.items()]


@pytest.fixture
def index(documents, tmp_path):
    with Index.create(tmp_path / "index", documents) as made:
        yield made
