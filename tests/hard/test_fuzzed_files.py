"""Readers and loaders give random and damaged bytes back as InputError, whatever hypothesis draws."""

import contextlib
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hard.hostile_files import Base
from pairlight import Index, Matcher
from pairlight.core.errors import InputError
from pairlight.data.collection import read_collection
from pairlight.data.readers import read_pairs
from pairlight.evaluation.trec import read_qrels, read_run
from pairlight.inference.encodings import Encodings
from pairlight.text.vectors import load_vectors
from pairlight.training.checkpoint import read_checkpoint
from pairlight.training.loop import CHECKPOINT

pytestmark = pytest.mark.hard
FUZZED = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
READERS = {
    "pairs.tsv": read_pairs,
    "pairs.csv": read_pairs,
    "pairs.jsonl": read_pairs,
    "pairs.parquet": read_pairs,
    "pairs.tsv.gz": read_pairs,
    "texts.txt": read_collection,
    "qrels": read_qrels,
    "run": read_run,
    "words.vec": lambda path: load_vectors(str(path), ["a", "b"]),
    "words.bin": lambda path: load_vectors(str(path), ["a", "b"]),
    "encodings": Encodings.load,
}
LINES = st.lists(st.text(st.sampled_from("ab01\t ,\"'\n\r\0{}[]:eé"), max_size=20), max_size=5).map(
    lambda lines: b"left\tright\tlabel\n" + "\n".join(lines).encode()
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return Base(tmp_path_factory.mktemp("base") / "base")


@pytest.mark.parametrize("name", READERS)
def test_a_reader_reads_or_refuses_any_bytes(name):
    @FUZZED
    @given(st.one_of(st.binary(max_size=300), LINES))
    def run(content):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            with contextlib.suppress(InputError):
                READERS[name](path)

    run()


def load(kind, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "model":
            Matcher.load(path).predict([("bama delo", "bama")])
        elif kind == "encodings":
            Encodings.load(path / "encodings", verify=True)
        elif kind == "checkpoint":
            read_checkpoint(path / CHECKPOINT)
        else:
            with Index.open(path) as index:
                index.search("bama delo")


@pytest.mark.parametrize("kind", ["model", "encodings", "checkpoint", "index"])
def test_a_damaged_folder_loads_or_is_refused(kind, base, tmp_path):
    source = {"model": base.model, "checkpoint": base.run / "training", "index": base.index}.get(kind)
    if source is None:
        source = tmp_path / "source"
        source.mkdir()
        shutil.copy(base.encodings, source / "encodings")
    files = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())

    @settings(FUZZED, max_examples=100)
    @given(st.sampled_from(files), st.floats(0, 1), st.binary(min_size=1, max_size=8), st.booleans())
    def run(file, share, content, cut):
        folder = tmp_path / kind
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        data = (folder / file).read_bytes()
        at = int(share * len(data))
        (folder / file).write_bytes(data[:at] if cut else data[:at] + content + data[at + len(content) :])
        with contextlib.suppress(InputError):
            load(kind, folder)

    run()
