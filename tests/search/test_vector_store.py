"""The folder of vectors: exact, incremental, and durable at every write."""

import json
import os

import numpy as np
import pytest

from pairlight.core.errors import InputError
from pairlight.search import vector_rows, vector_store
from pairlight.search.sentence_vectors import DIM, quantized, sentence_vectors
from pairlight.search.vector_store import COMMIT, VectorStore


def unit(rows: int, seed: int = 0):
    x = np.random.default_rng(seed).normal(size=(rows, DIM)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def filled(folder, names, seed=0):
    store = VectorStore(folder)
    store.append(names, *quantized(unit(len(names), seed)))
    return store


def contents(store: VectorStore) -> dict[str, bytes]:
    store.check()
    rows = {store.rows.id_of(row): row for row in store.rows.live().tolist()}
    return {name: store.rows.first[row].tobytes() + store.rows.rest[row].tobytes() for name, row in rows.items()}


def test_the_vector_of_a_text_is_the_mean_of_its_subwords_with_length_one():
    one, two, both = sentence_vectors(["cat", "dog", "cat dog"])
    assert np.linalg.norm(both) == pytest.approx(1, abs=1e-6)
    assert both @ one == pytest.approx(both @ two, abs=0.2)
    # Each text alone is as in a batch.
    assert np.allclose(sentence_vectors(["dog"])[0], two, atol=1e-6)


def test_int8_keeps_cosines_to_a_hundredth(tmp_path):
    x, q = unit(5000), unit(1, seed=1)[0]
    store = VectorStore(tmp_path)
    store.append([str(i) for i in range(5000)], *quantized(x))
    found = store.rows.search(q, 5000)
    cosines = [score for _, score in found]
    assert sorted(int(name) for name, _ in found) == list(range(5000))
    assert max(abs(score - x[int(name)] @ q) for name, score in found) < 0.01
    assert cosines == sorted(cosines, reverse=True)


def test_halves_find_nearly_all_of_the_best_and_score_them_exactly(tmp_path, monkeypatch):
    x = unit(20_000)
    queries = unit(20, seed=1) + 2 * x[:20]  # near some of the vectors, as a query is near some texts
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    store = VectorStore(tmp_path)
    store.append([str(i) for i in range(len(x))], *quantized(x))
    store.delete(["0"])
    monkeypatch.setattr(vector_rows, "KEPT", 20_000)
    whole = [dict(store.rows.search(q, 10)) for q in queries]
    monkeypatch.setattr(vector_rows, "KEPT", 100)
    halves = [dict(store.rows.search(q, 10)) for q in queries]
    assert np.mean([len(a.keys() & b.keys()) for a, b in zip(whole, halves, strict=True)]) > 8  # texts: 9.99
    for exact, found in zip(whole, halves, strict=True):
        assert all(score == pytest.approx(exact.get(name, score), abs=1e-5) for name, score in found.items())
        assert "0" not in found


@pytest.mark.parametrize("kind", ["distinct", "ties", "ascending", "mostly deleted"])
def test_the_largest_of_many_scores_are_those_of_a_sort(kind):
    g = np.random.default_rng(1)
    scores = g.standard_normal(50_000).astype(np.float32)
    if kind == "ties":
        scores = np.round(scores)
    elif kind == "ascending":
        scores = np.sort(scores)
    elif kind == "mostly deleted":
        scores[g.random(50_000) < 0.999] = -np.inf
    found = vector_rows._largest(scores, 100)
    assert len(set(found.tolist())) == 100
    np.testing.assert_array_equal(np.sort(scores[found]), np.sort(scores)[-100:])


def test_a_search_among_some_ids_finds_only_them(tmp_path):
    store = filled(tmp_path, [str(i) for i in range(50)])
    store.delete(["3"])
    assert sorted(name for name, _ in store.rows.search(unit(1)[0], 10, ["2", "3", "40", "nobody"])) == ["2", "40"]
    assert store.rows.search(unit(1)[0], 10, []) == []
    assert VectorStore(tmp_path / "empty").rows.search(unit(1)[0], 10) == []


def test_ids_of_any_script_are_kept(tmp_path):
    names = ["a", "é" * 100, "日本語", "with space"]
    filled(tmp_path, names)
    store = VectorStore(tmp_path)
    assert [store.rows.id_of(row) for row in range(4)] == names
    assert store.rows.find(["日本語", "nobody", "a"]).tolist() == [0, 2]


def test_a_vector_with_the_same_id_is_replaced_and_a_deleted_one_is_never_found(tmp_path):
    store = filled(tmp_path, ["a", "b", "c"])
    store.append(["b"], *quantized(unit(1, seed=5)))
    assert len(store) == 3
    assert store.rows.find(["b"]).tolist() == [3]
    assert store.rows.live().tolist() == [0, 2, 3]
    store.delete(["a", "nobody"])
    assert len(VectorStore(tmp_path)) == 2
    assert store.rows.find(["a"]).tolist() == []


def test_a_reader_sees_later_changes_when_it_reloads(tmp_path):
    store = filled(tmp_path, ["a"])
    reader = VectorStore(tmp_path)
    store.append(["b"], *quantized(unit(1)))
    assert len(reader) == 1
    reader.reload()
    assert len(reader) == 2


def test_compaction_drops_deleted_vectors_and_keeps_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_store, "COMPACT_FROM", 4)
    names = [f"n{i}" for i in range(10)]
    store = filled(tmp_path, names)
    before = contents(store)
    reader = VectorStore(tmp_path)
    store.delete(names[:6])
    assert store.committed.generation == 1
    assert len(store.rows.scales) == 4
    assert contents(store) == {name: before[name] for name in names[6:]}
    assert len(reader) == 10  # as it was mapped
    reader.reload()
    assert contents(reader) == contents(store)
    assert sorted(path.name for path in tmp_path.glob("vectors-*")) == ["vectors-1"]


def test_a_search_that_began_before_a_change_is_not_disturbed_by_it(tmp_path):
    store = filled(tmp_path, ["a", "b"])
    before = store.rows
    store.delete(["a"])
    store.compact()
    assert sorted(name for name, _ in before.search(unit(1)[0], 5)) == ["a", "b"]
    assert [name for name, _ in store.rows.search(unit(1)[0], 5)] == ["b"]


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("action", ["append", "delete", "compact"])
def test_a_kill_at_any_write_leaves_the_state_before_or_after(tmp_path, monkeypatch, action):
    def prepared(folder):
        store = filled(folder, ["a", "b", "c"])
        store.delete(["a"])
        return store

    def change(store):
        if action == "append":
            store.append(["c", "d"], *quantized(unit(2, seed=9)))
        elif action == "delete":
            store.delete(["b"])
        else:
            store.compact()

    store = prepared(tmp_path / "whole")
    before = contents(store)
    change(store)
    after = contents(store)
    real, outcomes = os.fsync, []
    for limit in range(20):
        store, calls = prepared(tmp_path / str(limit)), iter(range(100))

        def killing(handle, calls=calls, limit=limit):
            if next(calls) == limit:
                raise Killed
            real(handle)

        monkeypatch.setattr(os, "fsync", killing)
        try:
            change(store)
        except Killed:
            monkeypatch.setattr(os, "fsync", real)
        else:
            monkeypatch.setattr(os, "fsync", real)
            assert contents(VectorStore(tmp_path / str(limit))) == after
            break
        again = VectorStore(tmp_path / str(limit))
        outcomes.append(contents(again))
        assert outcomes[-1] in (before, after)
        again.append(["z"], *quantized(unit(1, seed=3)))  # what was left behind is not in the way
        assert contents(VectorStore(tmp_path / str(limit))).keys() == {*outcomes[-1], "z"}
    assert len(outcomes) >= 2
    assert outcomes[0] == before


@pytest.mark.parametrize("name", ["vectors-0", "rest-0", "ids-0", "scales-0", "hashes-0", "lengths-0"])
def test_a_missing_or_short_file_is_an_input_error(tmp_path, name):
    filled(tmp_path, ["a", "b"])
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[:-1])
    with pytest.raises(InputError, match="is damaged: index the documents again"):
        VectorStore(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match="is damaged"):
        VectorStore(tmp_path)


def test_a_changed_byte_is_found_by_its_checksum(tmp_path):
    filled(tmp_path, ["a", "b"]).check()
    content = bytearray((tmp_path / "vectors-0").read_bytes())
    content[7] ^= 1
    (tmp_path / "vectors-0").write_bytes(content)
    with pytest.raises(InputError, match="vectors-0 is damaged"):
        VectorStore(tmp_path).check()


@pytest.mark.parametrize("change", ["{", "[]", '{"format": 1}', None, {"generation": 5}, {"format": 0}])
def test_a_damaged_commit_is_an_input_error(tmp_path, change):
    filled(tmp_path, ["a"])
    path = tmp_path / COMMIT
    if change is None:
        path.unlink()
    elif isinstance(change, str):
        path.write_text(change)
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match="index the documents again"):
        VectorStore(tmp_path)
