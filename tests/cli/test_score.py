"""`pairlight score`: the file as it is, with the scores as one more column, in four formats."""

import csv
import json
import shutil

import numpy as np
import pytest

from pairlight import Matcher

ROWS = [
    {"id": 7, "left": "bama delo", "note": "a, b", "right": 'say "hi", bama', "meta": {"tags": ["x"], "ok": True}},
    {"id": 8, "left": "你好", "right": "👍 ok", "score_old": 0.1234567890123},
    {"id": 9, "left": "x", "note": None, "right": "y\tz"},
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def expected(model):
    return Matcher.load(model).predict([(row["left"], row["right"]) for row in ROWS])


@pytest.mark.parametrize("extension", ["tsv", "csv", "jsonl", "parquet"])
def test_all_columns_are_kept_in_order_and_scores_are_added(run, model, pairs, expected, tmp_path, extension):
    out = tmp_path / f"s.{extension}"
    code, said, _ = run("score", model, pairs, "--out", out, "--probability")
    assert (code, said) == (0, f"Wrote the scores of 3 pairs to {out}\n")
    names = ["id", "left", "note", "right", "meta", "score_old", "score", "probability"]
    if extension == "jsonl":
        found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        added = ["score", "probability"]
        assert [list(row) for row in found] == [
            [name for name in names if name in row or name in added] for row in ROWS
        ]
        assert [{name: row[name] for name in row if name not in added} for row in found] == ROWS
    elif extension == "parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(out)
        assert table.column_names == names
        found = table.to_pylist()
        assert [row["id"] for row in found] == [7, 8, 9]
        assert found[0]["meta"] == {"tags": ["x"], "ok": True}
    else:
        with out.open(encoding="utf-8", newline="") as file:
            sign = {"tsv": "\t", "csv": ","}[extension]
            quoting = csv.QUOTE_NONE if extension == "tsv" else csv.QUOTE_MINIMAL
            header, *rows = csv.reader(file, delimiter=sign, quoting=quoting)
        assert header == names
        found = [dict(zip(header, row, strict=True)) for row in rows]
        assert found[0]["meta"] == '{"tags": ["x"], "ok": true}'
        assert [row["note"] for row in found] == ["a, b", "", ""]
        assert found[1]["score_old"] == "0.1234567890123"
        assert found[2]["right"] == ("y z" if extension == "tsv" else "y\tz")
    np.testing.assert_allclose([float(row["score"]) for row in found], expected, rtol=1e-6)
    assert all(0 <= float(row["probability"]) <= 1 for row in found)


@pytest.mark.parametrize("output", ["tsv", "csv", "jsonl", "parquet"])
@pytest.mark.parametrize("source", ["tsv", "csv", "parquet"])
def test_every_format_can_be_read_and_written(run, model, tmp_path, source, output):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"n": pa.array([3, 4], pa.int16()), "question": ["bama", "delo"], "answer": ["delo", "firi"]}
    path, out = tmp_path / f"p.{source}", tmp_path / f"s.{output}"
    if source == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        sign = {"tsv": "\t", "csv": ","}[source]
        path.write_text(
            "".join(sign.join(line) + "\n" for line in (columns, ["3", "bama", "delo"], ["4", "delo", "firi"]))
        )
    code, _, err = run("score", model, path, "--out", out)
    assert code == 0
    assert "the columns used are left=question, right=answer." in err
    again = tmp_path / f"again.{output}"
    assert run("score", model, out, "--out", again, "--score-column", "second")[0] == 0
    assert "second" in (pq.read_table(again).column_names if output == "parquet" else again.read_text())
    if source == output == "parquet":
        assert pq.read_schema(again).field("n").type == pa.int16()


def test_scores_are_printed_as_tsv_or_json_lines(run, model, pairs, expected):
    header, *lines = run("score", model, pairs)[1].splitlines()
    scores = [float(line.split("\t")[header.split("\t").index("score")]) for line in lines]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    printed = run("score", model, pairs, "--json")[1].splitlines()
    np.testing.assert_allclose([json.loads(line)["score"] for line in printed], expected, rtol=1e-6)


def test_a_tsv_file_keeps_its_cells_and_leaves_out_skipped_rows(run, model, tmp_path):
    rows = [
        "qid\tleft\tdid\tright\t\t",
        'q1\tbama  x\td7\t"delo\tä\t1',
        "q2\t\td8\tfiri\tb\t2",
        "q3\tgodu\td9\tdelo\t\t3",
    ]
    (tmp_path / "p.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    code, said, err = run("score", model, tmp_path / "p.tsv", "--skip-bad-rows")
    assert code == 0
    assert "Skipped 1 bad rows of 3" in err
    lines = said.splitlines()
    assert [line.rpartition("\t")[0] for line in lines] == [rows[0], rows[1], rows[3]]
    assert lines[0].endswith("\tscore")


def test_bytes_that_are_not_utf_8_in_another_column_do_not_matter(run, model, tmp_path):
    (tmp_path / "p.tsv").write_bytes(b"left\tright\tnote\nbama\tdelo\tcaf\xe9\n")
    code, said, _ = run("score", model, tmp_path / "p.tsv")
    assert code == 0
    assert said.splitlines()[1].startswith("bama\tdelo\tcaf?\t")


@pytest.mark.parametrize(
    ("header", "options", "words"),
    [
        ("left\tright\tscore", [], "has a column 'score' already: choose another name"),
        ("left\tright\tscore", [], "(option --score-column)"),
        ("left\tright\tmine", ["--score-column", "mine"], "has a column 'mine' already"),
        ("left\tright\tprobability", ["--probability"], "has a column 'probability' already: rename it"),
        ("left\tright\tx", ["--probability", "--score-column", "probability"], "has a column 'probability' already"),
        ("left\tright\tright_id\tx\tx", ["--json"], "more than one column 'x', which .jsonl cannot have"),
    ],
)
def test_a_column_is_never_replaced(fails, model, tmp_path, header, options, words):
    row = "\t".join("a" for _ in header.split("\t"))
    (tmp_path / "p.tsv").write_text(f"{header}\n{row}\n")
    fails(["score", model, tmp_path / "p.tsv", *options], words)


def test_another_name_for_the_scores_avoids_a_clash(run, model, tmp_path):
    (tmp_path / "p.tsv").write_text("left\tright\tscore\nbama\tdelo\t3\n")
    said = run("score", model, tmp_path / "p.tsv", "--score-column", "mv-lstm")[1].splitlines()
    assert said[0] == "left\tright\tscore\tmv-lstm"
    assert said[1].startswith("bama\tdelo\t3\t")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--json", "--out", "s.csv"], "give one of the two"),
        (["--out", "s.xml"], "s.xml has an unknown extension: use .tsv, .csv, .jsonl or .parquet. (option --out)"),
        (["--left", "Question"], "has no column 'Question'"),
    ],
)
def test_bad_options_are_one_line(fails, model, data, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    fails(["score", model, data, *options], words)
    assert not list(tmp_path.iterdir())


def test_ids_that_only_white_space_tells_apart_are_not_merged(run, fails, model, tmp_path):
    rows = [{"left": "a b", "right": "c", "left_id": "q", "right_id": name} for name in ("a\tb", "a b")]
    source = tmp_path / "pairs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fails(["score", model, source, "--out", tmp_path / "s.tsv"], "The id 'a\\tb' has a tab", "(option --out)")
    fails(["score", model, source], "The id 'a\\tb' has a tab")
    assert not (tmp_path / "s.tsv").exists()
    assert run("score", model, source, "--out", tmp_path / "s.csv")[0] == 0
    assert "a\tb" in (tmp_path / "s.csv").read_text("utf-8")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_reported_and_not_written(run, model, data, tmp_path, monkeypatch, value):
    def score(self, texts, left, right):
        return np.full(len(left), value, np.float32)

    monkeypatch.setattr("pairlight.inference.scorer.ModelScorer.score_tokenized", score)
    code, out, err = run("score", model, data, "--out", tmp_path / "s.tsv")
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("pairlight: 80 of 80 scores are NaN or infinite, the first that of pair 1:")
    assert not (tmp_path / "s.tsv").exists()
    assert run("rank", model, "bama", data, "--text", "right")[0] == 1


def test_a_file_is_not_replaced_by_its_scores(fails, model, data, tmp_path):
    path = tmp_path / "pairs.tsv"
    shutil.copy(data, path)
    before = path.read_bytes()
    (tmp_path / "link.tsv").symlink_to(path)
    for out in (path, tmp_path / "link.tsv"):
        fails(["score", model, path, "--out", out], "is the file that is read: choose another name. (option --out)")
    assert path.read_bytes() == before


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl", "parquet"])
def test_a_key_that_is_not_unicode_is_written_with_a_question_mark(run, model, tmp_path, suffix):
    (tmp_path / "pairs.jsonl").write_text('{"left": "a", "right": "b", "\\ud800": 1}\n', encoding="utf-8")
    assert run("score", model, tmp_path / "pairs.jsonl", "--out", tmp_path / f"s.{suffix}")[0] == 0
    assert b"?" in (tmp_path / f"s.{suffix}").read_bytes()
