"""The index folder: create, open, search, change, and survive interruptions."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from pairlight import Document, Index, Matcher
from pairlight.core.errors import InputError
from pairlight.search import index as index_module
from pairlight.search import tantivy_stage, vector_stage
from pairlight.search.manifest import MANIFEST, Manifest, is_index, read_manifest, write_manifest
from pairlight.search.vector_store import COMMIT


def ids(results):
    return [hit.id for hit in results]


def test_an_index_finds_the_right_text_with_all_scores(index):
    results = index.search("where is my parcel", top=2)
    best = results[0]
    assert best.id == "tracking"
    assert best.fields == {"lang": "en", "words": 8}
    assert best.score >= results[1].score
    assert best.model_score > results[1].model_score
    assert best.first_score > 0
    assert results.as_dict()["hits"][0]["passage"]["text"] == best.text


def test_an_index_is_the_same_when_it_is_opened_again(index, tmp_path):
    found = index.search("how do I pay")
    index.close()
    with Index.open(tmp_path / "index") as again:
        assert again.search("how do I pay").hits == found.hits
        assert len(again) == 4
        again.check()


@pytest.mark.parametrize("first_stage", ["bm25", "vectors", "hybrid"])
def test_every_first_stage_finds_added_documents_and_no_deleted_ones(documents, tmp_path, first_stage):
    with Index.create(tmp_path / "i", documents, first_stage=first_stage, model=None) as index:
        assert index.add([{"id": "hours", "text": "the shop is open on Sunday", "lang": "en"}]) == 1
        assert ids(index.search("open on Sunday"))[0] == "hours"
        assert index.update([Document("hours", "opening times of the museum"), Document("new", "another text")]) == 2
        assert ids(index.search("museum opening times"))[0] == "hours"
        assert len(index) == 6
        assert index.delete(["hours", "nobody", "hours", "\ud800"]) == 1
        assert "hours" not in ids(index.search("museum opening times shop Sunday"))
        index.check()
    with Index.open(tmp_path / "i") as again:
        assert len(again) == 5


def test_a_search_uses_the_first_stage_that_it_names(index, documents, tmp_path):
    query = "returns are free"
    for name in ("bm25", "vectors", "hybrid"):
        found = index.search(query, first=4, top=4, first_stage=name)
        expected = {each.document.id: each.score for each in index.stage(name).candidates(query, 4)}
        assert {hit.id: hit.first_score for hit in found} == expected
    with pytest.raises(InputError, match=r"No first stage named 'bm52'\. Did you mean 'bm25'"):
        index.search(query, first_stage="bm52")
    with Index.create(tmp_path / "words", documents, first_stage="bm25", model=None) as words:
        assert ids(words.search(query, first_stage="bm25")) == ["returns"]
        with pytest.raises(InputError, match="has no vectors for the first stage hybrid: use bm25, or index"):
            words.search(query, first_stage="hybrid")


def test_fields_can_be_filtered_by_and_pages_follow_each_other(index):
    index.add([Document("de", "Sendung verfolgen", {"lang": "de"})])
    assert ids(index.search("where is my parcel", where={"lang": "de"})) == ["de"]
    whole = ids(index.search("where is my parcel", top=4))
    assert ids(index.search("where is my parcel", top=2, offset=2)) == whole[2:]


@pytest.mark.parametrize("first_stage", ["bm25", "vectors", "hybrid"])
def test_candidates_of_any_size_take_bounded_memory(documents, tmp_path, monkeypatch, first_stage):
    with Index.create(tmp_path / "i", documents, first_stage=first_stage, model=None) as index:
        for module in (tantivy_stage, vector_stage):
            monkeypatch.setattr(module, "MAX_BYTES", 150)
        with pytest.raises(InputError, match="candidates of this search have more than 150 bytes: use a smaller first"):
            index.search("the page that you choose returns", top=1, first=4)
        assert len(index.search("the page that you choose returns", top=1, first=1)) == 1
        assert index.update(documents) == len(documents)


def test_an_id_that_exists_can_be_updated_but_not_added(index):
    with pytest.raises(InputError, match=r"has a document 'payment' already .* update it"):
        index.add([Document("other", "text"), Document("payment", "text")])
    assert len(index) == 4


def test_an_id_that_occurs_twice_is_an_error(index, tmp_path):
    with pytest.raises(InputError, match="'a' occurs more than once"):
        index.update([Document("a", "x"), Document("a", "y")])
    with pytest.raises(InputError, match="'1' occurs more than once"):
        Index.create(tmp_path / "other", ["x", Document("1", "y")])


def test_texts_get_their_numbers_as_ids(tmp_path):
    with Index.create(tmp_path / "i", ["one text", "another text"], model=None) as index:
        assert sorted(ids(index.search("text"))) == ["1", "2"]


def test_another_model_can_rerank_and_then_nothing_tuned_applies(index, tmp_path):
    *_, second, first = sorted(hit.model_score for hit in index.search("where is my parcel"))
    index.set_tuned(0.9, (first + second) / 2)
    index.close()
    assert len(Index.open(tmp_path / "index").search("where is my parcel")) == 1
    other = Index.open(tmp_path / "index", model=Matcher.load("sim-small"))
    assert len(other.search("where is my parcel")) == 4
    assert other.searcher().weight == 0.5


def test_the_folder_of_a_model_is_kept_as_an_absolute_path(documents, tmp_path, monkeypatch, matcher):
    matcher.save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    Index.create("i", documents, model="model").close()
    monkeypatch.chdir("/")
    assert Index.open(tmp_path / "i").matcher is not None


def test_a_reader_sees_what_another_object_adds(index, tmp_path):
    reader = Index.open(tmp_path / "index")
    assert len(reader.search("opening hours on Sunday")) == 4
    index.add([Document("hours", "opening hours on Sunday")])
    assert ids(reader.search("opening hours on Sunday"))[0] == "hours"


def test_an_open_index_sees_what_another_object_tunes(index, tmp_path):
    reader = Index.open(tmp_path / "index")
    *_, second, first = sorted(hit.model_score for hit in reader.search("where is my parcel"))
    index.set_tuned(0.9, (first + second) / 2)
    assert len(reader.search("where is my parcel")) == 1
    assert reader.searcher().weight == 0.9
    index.set_tuned(0.2, None)
    assert len(reader.search("where is my parcel")) == 4
    assert reader.searcher().weight == 0.2


def test_one_process_writes_at_a_time(index, tmp_path):
    index.delete(["nobody"])
    other = Index.open(tmp_path / "index")
    with pytest.raises(InputError, match="is being written to by another process"):
        other.delete(["payment"])
    index.close()
    assert other.delete(["payment"]) == 1
    other.close()


def test_a_folder_with_other_contents_is_never_overwritten(documents, tmp_path):
    (tmp_path / "i").mkdir()
    (tmp_path / "i" / "notes.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match="choose another folder"):
            Index.create(tmp_path / "i", documents, overwrite=overwrite)
    assert [path.name for path in (tmp_path / "i").iterdir()] == ["notes.txt"]


def test_an_index_is_overwritten_only_on_request(index, tmp_path):
    index.close()
    with pytest.raises(InputError, match="is not empty"):
        Index.create(tmp_path / "index", ["x"])
    with Index.create(tmp_path / "index", ["x"], overwrite=True) as again:
        assert len(again) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"first_stage": "bm52"}, "No first stage named 'bm52'. Did you mean 'bm25'"),
        ({"language": "xx"}, "No language named 'xx'"),
        ({"model": "nowhere"}, "nowhere is not a model"),
    ],
)
def test_bad_settings_are_errors_before_anything_is_written(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        Index.create(tmp_path / "i", ["x"], **options)
    assert not (tmp_path / "i").exists()


def test_a_bad_first_document_leaves_no_folder(tmp_path):
    with pytest.raises(InputError, match="is empty"):
        Index.create(tmp_path / "i", [" "])
    assert not (tmp_path / "i").exists()


class StoppedError(Exception):
    """The work ends here."""


def test_interrupted_indexing_continues_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(index_module, "BATCH", 3)
    texts = [f"text number {i}" for i in range(10)]
    read = []

    def documents(stop=None):
        for i, text in enumerate(texts):
            if i == stop:
                raise StoppedError
            read.append(i)
            yield text

    with pytest.raises(StoppedError):
        Index.create(tmp_path / "i", documents(7), model=None, source="a")
    with pytest.raises(InputError, match="was interrupted: run the same command again"):
        Index.open(tmp_path / "i")
    with pytest.raises(InputError, match="is not empty"):  # another source
        Index.create(tmp_path / "i", documents(), model=None, source="b")
    added = []
    put = Index._put
    monkeypatch.setattr(Index, "_put", lambda self, batch, new: (added.extend(batch), put(self, batch, new=new)))
    with Index.create(tmp_path / "i", documents(), model=None, source="a") as index:
        assert [each.text for each in added] == texts[6:]
        assert sorted(each.id for each in index.documents.all_documents()) == sorted(map(str, range(1, 11)))
        index.check()


@pytest.mark.parametrize("change", ["add", "update", "delete"])
def test_a_crash_between_the_two_engines_is_repaired_by_the_next_change(index, tmp_path, monkeypatch, change):
    def crash(*_, **__):
        raise StoppedError

    with monkeypatch.context() as patched:
        patched.setattr(index.vectors, "add", crash)
        patched.setattr(index.vectors, "delete", crash)
        name = "new" if change == "add" else "payment"
        argument = name if change == "delete" else Document(name, "opening hours of the zoo")
        with pytest.raises(StoppedError):
            getattr(index, change)([argument])
    index.close()
    with Index.open(tmp_path / "index") as again:
        assert "tracking" in ids(again.search("where is my parcel"))  # it still answers
        again.update([Document("last", "a last text")])
        again.check()
        found = again.stage("vectors").candidates("opening hours of the zoo", 1)[0].document
        assert (found.text == "opening hours of the zoo") == (change != "delete")
        assert len(again) == {"add": 6, "update": 5, "delete": 4}[change]


WRITER = """
import sys
from pairlight import Document, Index
index = Index.open(sys.argv[1])
for n in range(10_000):
    index.update([Document(f"d{n % 50}", f"okapi number {n}", {"n": n})])
    print(n, flush=True)
"""


def test_after_kill_9_every_change_that_was_reported_is_there(index, tmp_path):
    index.close()
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "index")], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    told = [process.stdout.readline() for _ in range(8)]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    last = int(told[-1])
    with Index.open(tmp_path / "index") as again:
        stored = {each.id: each.fields.get("n") for each in again.documents.all_documents()}
        for n in range(max(0, last - 49), last + 1):
            assert stored[f"d{n % 50}"] >= n
        assert len(stored) >= 4 + min(50, last + 1)
        again.delete(["nobody"])  # the next change repairs the vectors
        again.check()
        assert again.stage("vectors").candidates("okapi", 1)


def test_a_damaged_vector_is_found_by_check(index, tmp_path):
    index.close()
    path = tmp_path / "index" / "vectors" / "vectors-0"
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")
    with pytest.raises(InputError, match="is damaged"):
        Index.open(tmp_path / "index").check()


@pytest.mark.parametrize("part", ["documents", "vectors"])
def test_a_missing_part_is_an_input_error(index, tmp_path, part):
    index.close()
    shutil.rmtree(tmp_path / "index" / part)
    with pytest.raises(InputError, match=f"is damaged \\({part} is missing\\)"):
        Index.open(tmp_path / "index")
    assert not (tmp_path / "index" / part).exists()


def test_the_manifest_is_checked(tmp_path):
    write_manifest(tmp_path, Manifest("hybrid", "en", None, complete=True, weight=0.7))
    assert read_manifest(tmp_path).weight == 0.7
    assert is_index(tmp_path)
    record = json.loads((tmp_path / MANIFEST).read_text())
    for change, words in [
        ({"weight": 0.1}, "its checksum is wrong"),
        ({"format": 99}, "install a newer version"),
        ({"extra": 1}, "its checksum is wrong"),
        ({"weight": "high"}, "damaged"),
    ]:
        (tmp_path / MANIFEST).write_text(json.dumps(record | change))
        with pytest.raises(InputError, match=words):
            read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text("[")
    with pytest.raises(InputError, match="is damaged"):
        read_manifest(tmp_path)
    with pytest.raises(InputError, match="give the folder of an index"):
        read_manifest(tmp_path / "nowhere")
    assert not is_index(tmp_path / "nowhere")


def test_an_index_whose_checksums_are_without_the_format_is_read(index, tmp_path):
    for path in (tmp_path / "index" / MANIFEST, tmp_path / "index" / "vectors" / COMMIT):
        record = json.loads(path.read_text())
        values = {name: value for name, value in record.items() if name not in ("format", "sha256")}
        digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
        assert digest != record["sha256"]
        path.write_text(json.dumps(record | {"sha256": digest}))
    with Index.open(tmp_path / "index") as opened:
        opened.check()


@pytest.mark.parametrize("suffix", ["store", "term", "idx", "pos", "fieldnorm", "fast"])
def test_a_damaged_file_of_documents_is_an_input_error(index, tmp_path, suffix):
    index.close()
    (path,) = (tmp_path / "index" / "documents").glob(f"*.{suffix}")
    content = path.read_bytes()
    for damaged in (content[:-20], b"", content[:3] + bytes([content[3] ^ 16]) + content[4:]):
        path.unlink()  # truncating it in place would end a thread of tantivy that still has it mapped
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"documents is damaged \(.*\): index the documents again"):
            Index.open(tmp_path / "index")
    path.unlink()
    path.write_bytes(content)
    Index.open(tmp_path / "index").close()


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b'{"segments": [{"segment_id": 3}]}'])
def test_a_damaged_list_of_segments_is_an_input_error(index, tmp_path, content):
    index.close()
    (tmp_path / "index" / "documents" / "meta.json").write_bytes(content)
    with pytest.raises(InputError, match="documents is damaged"):
        Index.open(tmp_path / "index")


def test_a_panic_of_tantivy_is_an_input_error(index, monkeypatch):
    class PanicException(BaseException):
        pass

    class Searcher:
        def search(self, *_, **__):
            raise PanicException("assertion failed: start <= end\nmore")

    class Panicking:
        searcher = Searcher

    monkeypatch.setattr(index.documents, "index", Panicking())
    with pytest.raises(InputError, match=r"documents is damaged \(assertion failed: start <= end\)"):
        index.documents.lookup(["a"])


def test_a_full_disk_is_an_error_of_the_machine_and_the_index_stays_as_it_was(index, tmp_path):
    size = len(index)
    index.close()
    script = (
        "import resource, sys\nfrom pairlight import Index\nindex = Index.open(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try:\n    index.add([{'id': f'n{i}', 'text': f'text {i} ' * 50} for i in range(500)])\n"
        "except OSError as error:\n    print('refused', error.errno)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "index"], capture_output=True, text=True)
    assert done.stdout.startswith("refused"), done.stderr[-2000:]
    with Index.open(tmp_path / "index") as again:
        assert len(again) == size
        assert again.add([{"id": "later", "text": "there is space again"}]) == 1
        again.check()
