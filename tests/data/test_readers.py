"""Every source gives the same table, and every error is one line with the place, the value and the fix."""

import csv
import gzip
import json
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairlight.core.errors import InputError
from pairlight.data.pairs import Pairs
from pairlight.data.readers import PairsAndTables, ReadReport, read_pairs

Row = tuple[str, str, float]

ROWS: list[Row] = [
    ("how are you", 'he said "fine', 1.0),
    ("how are you", "这是一只猫", 0.0),
    ("🐈 ou 🐕 ?", "été, déjà", 0.5),
]


def rows_of(pairs: Pairs) -> list[Row]:
    assert pairs.label is not None
    return [
        (pairs.texts[left], pairs.texts[right], float(label))
        for left, right, label in zip(pairs.left, pairs.right, pairs.label, strict=True)
    ]


def write_tsv(path: Path, rows: list[Row], end: str = "\n") -> None:
    lines = ["left\tright\tlabel", *(f"{left}\t{right}\t{label}" for left, right, label in rows)]
    path.write_bytes("".join(line + end for line in lines).encode())


def write_csv(path: Path, rows: list[Row], end: str = "\n") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerows([("left", "right", "label"), *rows])


def write_jsonl(path: Path, rows: list[Row], end: str = "\n") -> None:
    lines = [json.dumps({"label": n, "left": a, "right": b}, ensure_ascii=n > 0.5) for a, b, n in rows]
    path.write_bytes("".join(line + end for line in lines).encode())


def write_parquet(path: Path, rows: list[Row], end: str = "") -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    left, right, label = zip(*rows, strict=True)
    pq.write_table(pa.table({"label": label, "left": left, "right": right}), path, row_group_size=2)


WRITERS: dict[str, Callable[..., None]] = {".tsv": write_tsv, ".csv": write_csv, ".jsonl": write_jsonl}


def write_bytes(folder: Path, content: bytes, name: str = "pairs.tsv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def raised(source: Any, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read_pairs(source, **options)
    assert "\n" not in str(caught.value)
    assert " --" not in str(caught.value)  # the command line adds the flag
    return caught.value


def error(source: Any, **options: Any) -> str:
    return str(raised(source, **options))


@pytest.mark.parametrize("kind", [*WRITERS, ".parquet"])
def test_a_file_is_read_by_its_extension(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"pairs{kind}"
    (WRITERS | {".parquet": write_parquet})[kind](path, ROWS)
    pairs, report = read_pairs(path)
    assert rows_of(pairs) == ROWS
    assert pairs.group.tolist() == [0, 0, 1]
    assert (pairs.left_id, pairs.right_id) == (None, None)
    assert report == ReadReport(3, columns={"left": "left", "right": "right", "label": "label"})
    assert rows_of(read_pairs(str(path))[0]) == ROWS


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_compression_line_ends_and_a_byte_order_mark_make_no_difference(
    tmp_path: Path, kind: str, end: str, mark: bytes
) -> None:
    path = tmp_path / f"Pairs{kind.upper()}"
    WRITERS[kind](path, ROWS, end)
    packed = tmp_path / f"pairs{kind}.gz"
    packed.write_bytes(gzip.compress(mark + path.read_bytes()))
    assert rows_of(read_pairs(path)[0]) == ROWS
    assert rows_of(read_pairs(packed)[0]) == ROWS


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")).filter(
    lambda text: text.strip() != ""
)
TSV_TEXT = TEXT.filter(lambda text: not set(text) & set("\t\n\r"))
LABEL = st.floats(-(2.0**90), 2.0**90, width=32)


@pytest.mark.parametrize(("kind", "text"), [(".tsv", TSV_TEXT), (".csv", TEXT), (".jsonl", TEXT)])
def test_any_table_is_read_as_it_was_written(kind: str, text: st.SearchStrategy[str]) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(text, text, LABEL), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
    def is_read_back(rows: list[Row], end: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"pairs{kind}"
            WRITERS[kind](path, rows, end)
            assert rows_of(read_pairs(path)[0]) == rows

    is_read_back()


def test_a_csv_text_may_contain_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b'right,left,label\n"a ""b"", c","d\ne\r\nf",1\nplain 5" disk,g,0\n', "p.csv")
    assert rows_of(read_pairs(path)[0]) == [("d\ne\r\nf", 'a "b", c', 1.0), ("g", 'plain 5" disk', 0.0)]


def test_quotes_have_no_meaning_in_tsv(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b'left\tright\tlabel\n"a\tb"\t1\n""\t"c"\t0\n')
    assert rows_of(read_pairs(path)[0]) == [('"a', 'b"', 1.0), ('""', '"c"', 0.0)]


def test_blank_lines_and_a_missing_last_line_end_are_accepted(tmp_path: Path) -> None:
    assert len(read_pairs(write_bytes(tmp_path, b"left\tright\tlabel\n\na\tb\t1\n\r\nc\td\t0"))[0]) == 2
    assert len(read_pairs(write_bytes(tmp_path, b"left,right,label\n\na,b,1\n\r\nc,d,0", "p.csv"))[0]) == 2
    assert len(read_pairs(write_bytes(tmp_path, b'\n{"left":"a","right":"b","label":true}\n \n', "p.jsonl"))[0]) == 1


def test_ids_are_read_if_there_are_any(tmp_path: Path) -> None:
    path = write_bytes(
        tmp_path, b"left_id\tleft\tright_id\tright\tlabel\n7\ta\tr1\tx\t1\n8\ta\tr2\ty\t0\n7\tb\tr3\tz\t0\n"
    )
    pairs, _ = read_pairs(path)
    assert pairs.left_id == ["7", "8", "7"]
    assert pairs.right_id == ["r1", "r2", "r3"]
    assert pairs.group.tolist() == [0, 1, 0]


def test_columns_are_found_by_the_given_names(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"q\ta\ty\tqid\taid\nhow\tso\t1\tQ1\tA1\n")
    pairs, _ = read_pairs(path, left="q", right="a", label="y", left_id="qid", right_id="aid")
    assert rows_of(pairs) == [("how", "so", 1.0)]
    assert (pairs.left_id, pairs.right_id) == (["Q1"], ["A1"])


def test_a_file_without_a_header_is_read_with_the_given_header(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"1\ta\tb\n0\tc\td\textra\n")
    header = ["label", "left", "right"]
    pairs, report = read_pairs(path, header=header, skip_bad_rows=True)
    assert rows_of(pairs) == [("a", "b", 1.0)]
    assert ", line 2: the row has 4 fields" in report.first_errors[0]
    write_jsonl(tmp_path / "p.jsonl", ROWS)
    assert "header is only for .tsv and .csv" in error(tmp_path / "p.jsonl", header=header)
    assert "header is only for .tsv and .csv" in error(ROWS, header=header)


def test_labels_are_not_read_if_they_are_not_needed(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"left\tright\tlabel\na\tb\tmaybe\n")
    assert read_pairs(path, need_label=False)[0].label is None
    assert len(read_pairs(write_bytes(tmp_path, b"left\tright\na\tb\n"), need_label=False)[0]) == 1
    assert len(read_pairs([("a", "b"), ("a", "c", 1)], need_label=False)[0]) == 2


def test_optional_labels_are_read_if_there_are_any(tmp_path: Path) -> None:
    assert read_pairs(write_bytes(tmp_path, b"left\tright\na\tb\n"), need_label=None)[0].label is None
    assert read_pairs(write_bytes(tmp_path, b"left\tright\tlabel\na\tb\t0\n"), need_label=None)[0].labels.tolist() == [
        0
    ]
    some = [{"left": "a", "right": "b"}, {"left": "a", "right": "c", "label": 0}]
    assert read_pairs(some[:1], need_label=None)[0].label is None
    assert "row 2: the label is 0, but the first row has none" in error(some, need_label=None)
    assert "row 2: the label is None, but the first row has a label" in error(some[::-1], need_label=None)


BAD_ROWS = [
    ("p.tsv", b"a\tb\tmaybe", "the label 'maybe' is not a number"),
    ("p.tsv", b"a\tb\tnan", "the label 'nan' is not a number"),
    ("p.tsv", b"a\tb\t-inf", "the label '-inf' is not a number"),
    ("p.tsv", b"a\tb\t1e39", "the label '1e39' is not a number"),
    ("p.tsv", b"a\tb\t1_0", "the label '1_0' is not a number"),
    ("p.tsv", b"a\tb\t", "the label '' is not a number"),
    ("p.tsv", b"\tb\t1", "the left text '' is empty"),
    ("p.tsv", b"a\t \xe3\x80\x80\t1", "is empty: give a text with at least one word"),
    ("p.tsv", b"a\xff\tb\t1", r"the left text 'a\udcff' is not valid Unicode"),
    ("p.tsv", b"a\tb\0c\t1", r"the right text 'b\x00c' contains a NUL character"),
    ("p.tsv", b"a\tb", "the row has 2 fields for 3 columns: write one per column, and do not put a tab into a text"),
    ("p.tsv", b"a\tb\tc\t1", "the row has 4 fields for 3 columns"),
    ("p.csv", b"a,b,c,1", "4 fields for 3 columns: write one per column, and quote a text that contains a comma"),
    ("p.csv", b'a,"b"c,1', "the CSV is malformed"),
    ("p.csv", b'"a\xc3",b,1', "is not valid Unicode"),
    ("p.csv", b'"a\0",b,1', "contains a NUL character"),
    ("p.jsonl", b'{"left": "a", "right": "b", "label": 1', "is not valid JSON ("),
    ("p.jsonl", b"[" * 100_000, "is not valid JSON ("),
    ("p.jsonl", b'["a", "b", 1]', "['a', 'b', 1] is not a JSON object"),
    ("p.jsonl", b'{"left": "a", "label": 1}', "no key 'right': the keys are 'left', 'label'; name the one to use"),
    ("p.jsonl", b'{"left": 5, "right": "b", "label": 1}', "the left text 5 is not a string"),
    ("p.jsonl", b'{"left": "a", "right": null, "label": 1}', "the right text None is not a string"),
    ("p.jsonl", b'{"left": "a", "right": "b", "label": null}', "the label None is not a number"),
    ("p.jsonl", b'{"left": "a", "right": "b", "label": NaN}', "the label nan is not a number"),
    ("p.jsonl", b'{"left": "a", "right": "\\ud800", "label": 1}', "is not valid Unicode"),
    ("p.jsonl", b'{"left": "a\xff", "right": "b", "label": 1}', "is not valid Unicode"),
    ("p.jsonl", b'{"left": "a", "right": "b", "label": 1' + b"0" * 400 + b"}", "is not a number"),
]  # fmt: skip

GOOD = {".tsv": b"a\tb\t1", ".csv": b'"a\n",b,1', ".jsonl": b'{"left": "a", "right": "b", "label": 1}'}


@pytest.mark.parametrize(("name", "bad", "expected"), BAD_ROWS)
def test_a_bad_row_is_reported_with_its_line_or_skipped(tmp_path: Path, name: str, bad: bytes, expected: str) -> None:
    good = GOOD[Path(name).suffix]
    header = {".tsv": [b"left\tright\tlabel"], ".csv": [b"left,right,label"], ".jsonl": []}[Path(name).suffix]
    path = write_bytes(tmp_path, b"\n".join([*header, good, bad, good, bad]) + b"\n", name)
    line = b"\n".join([*header, good]).count(b"\n") + 2
    found = raised(path)
    assert str(found).startswith(f"{path}, line {line}: ")
    assert expected in str(found)
    assert str(found).endswith(" Or pass skip_bad_rows=True to leave out bad rows.")
    assert found.option == "skip_bad_rows"
    pairs, report = read_pairs(path, skip_bad_rows=True)
    assert len(pairs) == 2
    assert (report.rows, report.skipped, len(report.first_errors)) == (4, 2, 2)
    assert report.first_errors[0].startswith(f"{path}, line {line}: ")
    assert len(report.first_errors[0]) < 400


def test_an_unclosed_quote_affects_only_its_own_line(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b'left,right,label\na,b,1\n"c,d,1\ne,f,0\n', "p.csv")
    assert f"{path}, line 3: the CSV is malformed" in error(path)
    pairs, report = read_pairs(path, skip_bad_rows=True)
    assert rows_of(pairs) == [("a", "b", 1.0), ("e", "f", 0.0)]
    assert (report.rows, report.skipped) == (3, 1)


def test_no_part_of_a_malformed_row_is_read_as_a_row(tmp_path: Path) -> None:
    content = b'left,right,label\na,b,1\n"He said:\nhello" there,answer,1\ne,f,0\n'
    pairs, report = read_pairs(write_bytes(tmp_path, content, "p.csv"), skip_bad_rows=True)
    assert rows_of(pairs) == [("a", "b", 1.0), ("e", "f", 0.0)]
    assert (report.rows, report.skipped) == (3, 1)


def test_unclosed_quotes_in_a_long_file_lose_no_other_row(tmp_path: Path) -> None:
    rows = [f"left {n},right {n} {'a' * 30},{n % 2}" for n in range(9000)]
    bad = {3, 4000, 4001, 8999}
    lines = ["left,right,label", *(f'"{row}' if n in bad else row for n, row in enumerate(rows))]
    pairs, report = read_pairs(write_bytes(tmp_path, "\n".join(lines).encode(), "p.csv"), skip_bad_rows=True)
    assert len(pairs) == 8996
    assert (report.rows, report.skipped) == (9000, 4)
    assert ", line 5: " in report.first_errors[0]
    assert "a text has more than 131,072 characters: close its quote" in report.first_errors[0]


def test_an_empty_id_is_a_bad_row(tmp_path: Path) -> None:
    path = write_bytes(tmp_path, b"left\tright\tlabel\tleft_id\na\tb\t1\tQ1\nc\td\t0\t\n")
    assert "line 3: left_id is empty" in error(path)
    pairs, report = read_pairs(path, skip_bad_rows=True)
    assert (pairs.left_id, len(pairs), report.skipped) == (["Q1"], 1, 1)
    dicts: list[dict[str, object]] = [{"left": "a", "right": "b", "right_id": i} for i in (1, None, 2.5)]
    assert "row 2: right_id is empty" in error(dicts, need_label=False)
    assert "row 2: right_id is 2.5: give every row a text or a whole number" in error(
        [dicts[0], dicts[2]], need_label=False
    )


def test_only_the_first_errors_are_kept() -> None:
    _, report = read_pairs([("a", "b", 1), *[("a", "", 1)] * 9], skip_bad_rows=True)
    assert (report.rows, report.skipped, len(report.first_errors)) == (10, 9, 5)


def test_a_table_with_only_bad_rows_is_refused() -> None:
    assert "All 2 rows of the list are bad. The first error: the list, row 1: the right text '' is empty" in error(
        [("a", "", 1), ("b", "", 1)], skip_bad_rows=True
    )


def test_a_file_whose_first_line_is_data_is_told_to_have_a_header(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text("C08\tA00\tA machine\tAnother machine\n", "utf-8")
    assert error(path).endswith("left='NAME', or add a line with the names of the columns if the first line is data.")
    assert error(path, left="text").endswith("name the one to use with left='NAME'.")


@pytest.mark.parametrize("kind", [".tsv", ".csv", ".parquet"])
def test_a_missing_column_is_named_with_the_columns_that_exist(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"p{kind}"
    (WRITERS | {".parquet": write_parquet})[kind](path, ROWS)
    found = raised(path, left_id="qid")
    message = str(found)
    assert message.startswith(f"{path} has no column 'qid': the columns are '")
    assert all(repr(name) in message for name in ("left", "right", "label"))
    assert message.endswith("; name the one to use with left_id='NAME'.")
    assert found.option == "left_id"
    assert raised(path, right="answer").option == "right"
    assert raised(path, label="y").option == "label"
    assert "no column 'y'" not in str(read_pairs(path, label="y", need_label=False))


def test_two_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    assert "more than one column 'left'" in error(write_bytes(tmp_path, b"left\tleft\tright\tlabel\na\tb\tc\t1\n"))


def test_files_that_cannot_be_read_are_named_with_the_reason(tmp_path: Path) -> None:
    assert f"The file {tmp_path / 'no.tsv'} does not exist" in error(tmp_path / "no.tsv")
    assert "is a folder" in error(tmp_path)
    assert "has an unknown extension: use one of .tsv, .csv, .jsonl," in error(write_bytes(tmp_path, b"x", "p.txt"))
    assert "has an unknown extension" in error(tmp_path / "none.txt")
    assert "does not exist" in error("x" * 5000 + ".tsv")
    for name in ("p.tsv", "p.csv", "p.jsonl", "p.parquet"):
        assert "is empty" in error(write_bytes(tmp_path, b"", name))
    assert "contains no pairs" in error(write_bytes(tmp_path, b"left\tright\tlabel\n"))
    assert "contains no pairs" in error(write_bytes(tmp_path, b"left,right,label", "p.csv"))
    assert "contains no pairs" in error(write_bytes(tmp_path, b"\n", "p.jsonl"))
    assert "has no readable header" in error(write_bytes(tmp_path, "left\tright".encode("utf-16")))
    assert "has no readable header" in error(write_bytes(tmp_path, b'"left,right\n', "p.csv"))
    assert "cannot be read as Parquet" in error(write_bytes(tmp_path, b"not parquet at all", "p.parquet"))


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    lines = "".join(f"text {i}\tother {i * i}\t1\n" for i in range(5000))
    whole = gzip.compress(b"left\tright\tlabel\n" + lines.encode())
    damaged = whole[: len(whole) // 2] + b"\0\1\2\3" * 10 + whole[len(whole) // 2 + 40 :]
    invalid = whole[:10] + b"\xff" * 40 + whole[50:]
    for content in (b"left\tright\tlabel\n", whole[:-20], damaged, invalid):
        assert "is not a valid gzip file (" in error(write_bytes(tmp_path, content, "p.tsv.gz"), skip_bad_rows=True)


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'pairlight[parquet]'" in error(write_bytes(tmp_path, b"x", "p.parquet"))


def test_tuples_dicts_and_pairs_are_accepted() -> None:
    assert rows_of(read_pairs(ROWS)[0]) == ROWS
    assert rows_of(read_pairs([list(row) for row in ROWS])[0]) == ROWS
    dicts = [{"q": left, "right": right, "label": label, "left_id": i} for i, (left, right, label) in enumerate(ROWS)]
    pairs, report = read_pairs(dicts, left="q")
    assert rows_of(pairs) == ROWS
    assert (pairs.left_id, report.rows) == (["0", "1", "2"], 3)
    assert read_pairs(pairs) == (pairs, ReadReport(3))
    assert "no labels" in error(Pairs.of(["a"], ["b"]))


def frames() -> list[Any]:
    import pandas as pd
    import polars as pl

    import datasets

    left, right, label = (list(column) for column in zip(*ROWS, strict=True))
    columns = {"right_id": ["x", "y", "z"], "right": right, "label": label, "left_id": [5, 5, 6], "left": left}
    return [pd.DataFrame(columns), pl.DataFrame(columns), datasets.Dataset.from_dict(columns)]


@pytest.mark.parametrize("which", [0, 1, 2], ids=["pandas", "polars", "datasets"])
def test_data_frames_and_datasets_are_accepted(which: int) -> None:
    frame = frames()[which]
    pairs, report = read_pairs(frame)
    assert rows_of(pairs) == ROWS
    assert pairs.left_id == ["5", "5", "6"]
    assert pairs.right_id == ["x", "y", "z"]
    assert report == ReadReport(3, columns={role: role for role in ("left", "right", "label", "left_id", "right_id")})
    assert "has no column 'answer': the columns are 'right_id', 'right'" in error(frame, right="answer")
    assert f"the {type(frame).__name__}, row 1: the left text 5 is not a string" in error(
        frame, left="left_id", left_id="right"
    )


def test_a_missing_value_in_a_data_frame_is_a_bad_row() -> None:
    import pandas as pd

    frame = pd.DataFrame({"left": ["a", None], "right": ["b", "c"], "label": [1.0, 1.0]})
    assert "the DataFrame, row 2: the left text nan is not a string" in error(frame)
    assert "row 2: the label nan is not a number" in error(frame.assign(left="a", label=[1, None]))
    assert "row 2: right_id is <NA>: give every row" in error(
        frame.assign(left="a", right_id=pd.array([1, None], "Int64"))
    )


def test_rows_and_sources_of_an_unknown_type_are_refused() -> None:
    assert "the list, row 1: ('a', 'b') is not a pair: give (left, right, label)" in error([("a", "b")])
    assert "row 1: 'ab' is not a pair: give (left, right)" in error(["ab"], need_label=False)
    assert "contains no pairs" in error([])
    assert "Pairs cannot be read from an object of type dict" in error({"train": ROWS})
    assert "Pairs cannot be read from an object of type int" in error(5)


def test_ids_with_nul_characters_are_refused():
    rows = [{"left": "a", "right": "b", "label": 1, "left_id": "q\0"}]
    with pytest.raises(InputError, match=r"left_id is 'q.x00', with a NUL character: remove it"):
        read_pairs(rows)


def test_parquet_with_values_that_python_cannot_have_is_one_line(tmp_path):
    offsets = pa.py_buffer(b"\0\0\0\0\2\0\0\0")
    texts = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    dates = pa.array([2**40], pa.int64()).cast(pa.timestamp("s"))
    for name, column in (("left", texts), ("right", dates)):
        columns = {"left": pa.array(["a"]), "right": pa.array(["b"]), "label": pa.array([1])} | {name: column}
        pq.write_table(pa.table(columns), tmp_path / "p.parquet")
        with pytest.raises(InputError, match=r"p.parquet cannot be read as Parquet"):
            read_pairs(tmp_path / "p.parquet")


def test_parquet_with_two_columns_of_one_name_cannot_be_written_again(tmp_path):
    columns = pa.Table.from_arrays([pa.array(["a"])] * 4, names=["left", "right", "more", "more"])
    pq.write_table(columns, tmp_path / "p.parquet")
    with pytest.raises(InputError, match="exists 2 times in schema"):
        list(PairsAndTables(tmp_path / "p.parquet"))


def test_a_line_of_any_length_takes_bounded_memory(tmp_path):
    """13 MB of gzip with one line took 6 GB."""
    path = tmp_path / "pairs.tsv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"left\tright\n")
        for _ in range(300):
            file.write(b"a" * 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="line 2 has more than 10,000,000 characters: divide it"):
            read_pairs(path, need_label=False)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("yes", "no"), [("true", "false"), ("TRUE", "FALSE"), ("Yes", " no"), ("1", "0.0")])
def test_labels_may_be_words(tmp_path, yes, no):
    path = tmp_path / "p.csv"
    path.write_text(f"question,answer,relevant\na,b,{yes}\na,c,{no}\n", encoding="utf-8")
    pairs, report = read_pairs(path)
    assert pairs.labels.tolist() == [1.0, 0.0]
    assert report.columns["label"] == "relevant"


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_csv_file_may_be_separated_by_semicolons_or_tabs(tmp_path, delimiter):
    rows = [["left", "right", "label"], ["a, b", '"c ""quoted"" d"', "1"], ["e", f'"f{delimiter}\ng"', "0"]]
    path = tmp_path / "p.csv"
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    pairs, _ = read_pairs(path)
    texts = [(pairs.texts[i], pairs.texts[j]) for i, j in zip(pairs.left, pairs.right, strict=True)]
    assert texts == [("a, b", 'c "quoted" d'), ("e", f"f{delimiter}\ng")]


def test_columns_that_are_not_used_are_reported(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("left,good,right\na,1,b\n", encoding="utf-8")
    assert read_pairs(path, need_label=None)[1].unused == ("good",)
    assert read_pairs([{"left": "a", "right": "b", "good": 1}], need_label=None)[1].unused == ("good",)
