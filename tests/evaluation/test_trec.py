"""TREC files are read back exactly, and malformed ones are refused with the line."""

from pathlib import Path

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairlight.core.errors import InputError
from pairlight.evaluation.ranking import evaluate_run, ranking_metrics
from pairlight.evaluation.trec import read_qrels, read_run, write_qrels, write_run


def test_a_run_file_lists_the_documents_of_each_query_highest_score_first(tmp_path):
    path = tmp_path / "new" / "run.txt"
    write_run(path, ["b", "a", "b", "a"], ["x", "y", "z", "x"], np.array([0.5, 1, 2, 1], np.float32), tag="bm25")
    assert path.read_text() == "b Q0 z 1 2.0 bm25\nb Q0 x 2 0.5 bm25\na Q0 y 1 1.0 bm25\na Q0 x 2 1.0 bm25\n"
    assert read_run(path) == {"b": {"z": 2, "x": 0.5}, "a": {"y": 1, "x": 1}}


def test_a_qrels_file_contains_whole_numbers(tmp_path):
    path = tmp_path / "qrels.txt"
    write_qrels(path, ["a", "a"], ["é", "y"], np.array([2, 0], np.float32))
    assert path.read_text("utf-8") == "a 0 é 2\na 0 y 0\n"
    assert read_qrels(path) == {"a": {"é": 2, "y": 0}}


@settings(deadline=None)
@given(scores=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_scores_are_read_back_exactly(tmp_path_factory, scores):
    path = tmp_path_factory.mktemp("run") / "run.txt"
    documents = [f"d{i}" for i in range(len(scores))]
    write_run(path, ["q"] * len(scores), documents, scores)
    assert read_run(path) == {"q": dict(zip(documents, scores, strict=True))}


def test_evaluating_files_equals_evaluating_the_arrays(tmp_path):
    rng = np.random.default_rng(0)
    queries = [f"q{i // 8}" for i in range(200)]
    documents = [f"d{i}" for i in range(200)]
    scores, labels = rng.integers(0, 4, 200), rng.integers(0, 3, 200) * (rng.random(200) < 0.2)
    write_run(tmp_path / "run", queries, documents, scores)
    write_qrels(tmp_path / "qrels", queries, documents, labels)
    from_files = evaluate_run(read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run"))
    assert from_files == ranking_metrics(scores, labels, queries)


def test_other_tools_read_the_files(tmp_path):
    write_run(tmp_path / "run", ["q", "q"], ["x", "y"], [1, 2])
    write_qrels(tmp_path / "qrels", ["q", "q"], ["x", "y"], [1, 0])
    run = list(ir_measures.read_trec_run(str(tmp_path / "run")))
    assert [(row.query_id, row.doc_id, row.score) for row in run] == [("q", "y", 2.0), ("q", "x", 1.0)]
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "qrels")))
    assert [(row.query_id, row.doc_id, row.relevance) for row in qrels] == [("q", "x", 1), ("q", "y", 0)]


def test_tabs_blank_lines_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    path = tmp_path / "qrels"
    path.write_bytes(b"\xef\xbb\xbfq\t0\tx\t1\r\n\r\nq 0  y -1\r\n")
    assert read_qrels(path) == {"q": {"x": 1, "y": -1}}


@pytest.mark.parametrize("word", ["two words", "tab\there", "line\n", "no\u00a0break", ""])
def test_an_id_with_whitespace_is_refused_and_nothing_is_written(tmp_path, word):
    path = tmp_path / "file"
    with pytest.raises(InputError, match=r"query_ids\[1\] is .*use '_'"):
        write_run(path, ["q", word], ["x", "y"], [1, 2])
    with pytest.raises(InputError, match=r"doc_ids\[0\] is .*use '_'"):
        write_qrels(path, ["q"], [word], [1])
    with pytest.raises(InputError, match=r"tag is .*use '_'"):
        write_run(path, ["q"], ["x"], [1], tag=word)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_could_not_be_read_back_is_not_written(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(InputError, match="Document 'x' occurs more than once for query 'q'"):
        write_run(path, ["q", "q"], ["x", "x"], [1, 2])
    with pytest.raises(InputError, match=r"scores\[0\] is nan"):
        write_run(path, ["q"], ["x"], [np.nan])
    with pytest.raises(InputError, match="doc_ids has 1 values, but there are 2 pairs"):
        write_run(path, ["q", "q"], ["x"], [1, 2])
    with pytest.raises(InputError, match=r"labels\[0\] is 0\.5"):
        write_qrels(path, ["q"], ["x"], [0.5])
    assert path.read_text() == "before"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"q Q0 x 1 2.0 t\nq Q0 y 2 1.0\n", "line 2: 'q Q0 y 2 1.0' has 5 columns: write 6 columns"),
        (b"q Q0 x 1 high t\n", "line 1: the score is 'high'"),
        (b"q Q0 x 1 nan t\n", "line 1: the score is 'nan'"),
        (b"q Q0 x 1 2 t\n\nq Q0 x 2 1 t\n", "line 3: document 'x' occurs more than once for query 'q'"),
        (b"q Q0 \xff 1 2 t\n", "line 1: .* is not valid UTF-8"),
        (b"\n", "is empty"),
    ],
)
def test_a_malformed_run_line_is_reported_with_its_file_line_and_value(tmp_path, content, message):
    path = tmp_path / "run"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_run(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q 0 x 1\nq 0 y 1.5\n", "line 2: the grade is '1.5': write a whole number"),
        ("q x 1\n", "line 1: 'q x 1' has 3 columns: write 4 columns"),
        ("q 0 x 1\nq 0 x 0\n", "line 2: document 'x' occurs more than once"),
    ],
)
def test_a_malformed_qrels_line_is_reported_with_its_line_and_value(tmp_path, content, message):
    path = tmp_path / "qrels"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_qrels(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path):
    with pytest.raises(InputError, match="nowhere cannot be read"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot be read"):
        read_qrels(str(tmp_path))


def test_ids_with_nul_characters_are_refused(tmp_path):
    (tmp_path / "qrels").write_bytes(b"q1 0 d1 1\nq1 0 d\x002 0\n")
    with pytest.raises(InputError, match=r"qrels, line 2: .* contains a NUL character"):
        read_qrels(tmp_path / "qrels")
    (tmp_path / "run").write_bytes(b"q\x001 Q0 d1 1 0.5 tag\n")
    with pytest.raises(InputError, match=r"run, line 1: .* contains a NUL character"):
        read_run(tmp_path / "run")
    with pytest.raises(InputError, match="NUL"):
        write_run(tmp_path / "new", ["q\0"], ["d"], [1.0])
