"""Columns are found by their default names, then by the names in common use; two candidates are an error."""

import json
from pathlib import Path
from typing import Any

import pytest

from pairlight.core.errors import InputError
from pairlight.data.columns import USUAL_NAMES, Column, TableColumns
from pairlight.data.readers import read_pairs


def used(header: str, **named: str) -> dict[str, str]:
    """The columns that are used for a table with this header."""
    _, report = read_pairs([dict.fromkeys(header.split(), "1")], **named)
    return report.columns


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("question answer score", "left=question right=answer label=score"),
        ("query document relevance", "left=query right=document label=relevance"),
        ("sentence1 sentence2 similarity", "left=sentence1 right=sentence2 label=similarity"),
        ("premise hypothesis label", "left=premise right=hypothesis label=label"),
        ("text_a text_b Label", "left=text_a right=text_b label=Label"),
        ("Text1 TEXT2 LABEL", "left=Text1 right=TEXT2 label=LABEL"),
        ("id qid1 qid2 question1 question2 is_duplicate", "left=question1 right=question2 label=is_duplicate"),
        ("query_id query docid passage score", "left=query right=passage label=score left_id=query_id right_id=docid"),
        (
            "QuestionID Question DocumentID SentenceID Sentence Label",
            "left=Question right=Sentence label=Label left_id=QuestionID right_id=SentenceID",
        ),
    ],
)
def test_usual_names_are_recognized_in_any_letter_case(header: str, expected: str) -> None:
    assert used(header) == dict(each.split("=") for each in expected.split())


def test_default_names_come_first() -> None:
    assert used("question answer left right label score") == {"left": "left", "right": "right", "label": "label"}
    assert used("question Left answer right Label score")["left"] == "Left"
    assert used("question Left answer right Label score")["label"] == "Label"


def test_a_column_that_was_named_has_no_other_role() -> None:
    assert used("question1 question2 label", left="question1")["right"] == "question2"
    with pytest.raises(InputError, match="there is no key 'right'"):
        used("question1 question2 label", left="question2")


def test_a_named_column_is_never_replaced_by_a_usual_name() -> None:
    with pytest.raises(InputError, match="no key 'q'"):
        used("question answer label", left="q")


@pytest.mark.parametrize(
    ("header", "role", "names"),
    [
        ("question query answer label", "left", "'question', 'query'"),
        ("question answer passage label", "right", "'answer', 'passage'"),
        ("question answer score relevance", "label", "'score', 'relevance'"),
        ("question answer label qid query_id", "left_id", "'qid', 'query_id'"),
        ("question answer LABEL Label", "label", "'LABEL', 'Label'"),
    ],
)
def test_two_candidates_are_an_error_that_names_both_and_the_option(
    tmp_path: Path, header: str, role: str, names: str
) -> None:
    path = tmp_path / "p.tsv"
    path.write_text("\t".join(header.split()) + "\n" + "\t".join("1" for _ in header.split()) + "\n")
    with pytest.raises(InputError) as caught:
        read_pairs(path)
    message = f"more than one column that could be {role}: {names}; name the one to use with {role}='NAME'."
    assert message in str(caught.value)
    assert caught.value.option == role
    assert used(header, **{role: names.split("'")[1]})[role] == names.split("'")[1]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        sign = {".tsv": "\t", ".csv": ","}[path.suffix]
        path.write_text("".join(sign.join(map(str, line)) + "\n" for line in [rows[0], *(r.values() for r in rows)]))
    return path


@pytest.mark.parametrize("kind", [".tsv", ".csv", ".jsonl", ".parquet"])
def test_every_format_recognizes_columns(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"p{kind}", [{"Question": "how", "qid": 7, "answer": "so", "score": 0.5}])
    pairs, report = read_pairs(path)
    assert (pairs.texts, pairs.labels.tolist(), pairs.left_id) == (["how", "so"], [0.5], ["7"])
    assert report.columns == {"left": "Question", "right": "answer", "label": "score", "left_id": "qid"}
    assert "label" not in read_pairs(path, need_label=False)[1].columns
    assert read_pairs(path, need_label=None)[1].columns["label"] == "score"


def test_the_first_complete_row_of_json_lines_decides(tmp_path: Path) -> None:
    rows = [{"question": "a"}, {"question": "b", "answer": "c", "score": 1}, {"question": "d", "label": 1}]
    pairs, report = read_pairs(write(tmp_path / "p.jsonl", rows), skip_bad_rows=True)
    assert (pairs.texts, report.skipped) == (["b", "c"], 2)
    assert "there is no key 'right'" in report.first_errors[0]
    assert "there is no key 'answer'" in report.first_errors[1]


def test_data_frames_recognize_columns() -> None:
    import pandas as pd

    frame = pd.DataFrame({"premise": ["a"], "hypothesis": ["b"], "similarity": [3.0], 5: [1]})
    assert read_pairs(frame)[1].columns == {"left": "premise", "right": "hypothesis", "label": "similarity"}


def test_no_name_belongs_to_two_columns_of_a_table_of_pairs() -> None:
    names = [name for role in ("left", "right", "label", "left_id", "right_id") for name in USUAL_NAMES[role]]
    assert len(names) == len(set(names))


def test_an_optional_column_may_be_absent() -> None:
    columns = TableColumns([Column("text", "text"), Column("id", "id", required=False)])
    assert columns.find(["passage"], "the file") == ["passage", None]
    assert columns.used == {"text": "passage"}
