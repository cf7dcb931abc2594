"""Records survive a round trip through JSON, and damaged files are refused with one clear line."""

import json
from pathlib import Path

import pytest

from pairlight.core.errors import InputError
from pairlight.core.records import decode
from pairlight.evaluation.significance import PairedDifference
from pairlight.experiments.leaderboard import DisagreementSummary, LeaderboardRow
from pairlight.experiments.records import Record, read_record, write_record
from pairlight.experiments.report import PaperReport, ReportRow, ReportTable, Significance, SplitSize
from pairlight.experiments.spec import EpochResult, RunResult
from pairlight.experiments.tune import TrialResult, TuneResult

RUN = RunResult(
    model="mv-lstm",
    seed=1,
    settings={"k": 5, "dropout": 0.0, "interaction": "cosine", "rescale": True},
    options={"lr": 1, "epochs": 2},
    dev={"MAP": 0.5},
    test={"MAP": 0.4},
    epochs=(EpochResult(1, 0.9, 0.5, 0.1), EpochResult(2, 0.8, None, 0.1, test=0.4)),
    train_seconds=0.2,
    seconds=0.3,
    parameters=10,
    per_list={"MAP": [0.3, 0.5]},
)
DIFFERENCE = PairedDifference(0.1, 0.04, 0.01, 0.19)
ROW = ReportRow(
    "MV-LSTM", "mv-lstm", {"k": 5}, {"lr": 0.1}, 1, {"MAP": None}, {"MAP": 0.4}, {"MAP": 0.0}, (0.3,), (RUN.epochs,),
    Significance(DIFFERENCE, DIFFERENCE),
)  # fmt: skip
TABLE = ReportTable("toy", "toy lists", "real lists", {"train": SplitSize(4, 2)}, "Made up.", ("MAP",), "BM25", (ROW,))
RECORDS: list[Record] = [
    RUN,
    LeaderboardRow(
        "bm25", 1, {"MAP": 1.0}, {"MAP": 0.0}, 0.9, None, 0.0, 0, {}, {}, DisagreementSummary("a", 1, 2, "p.html")
    ),
    PaperReport("toy", "A table", "small", "pairlight reproduce toy", (TABLE,)),
    TrialResult("MAP", None),
    TuneResult("mv-lstm", {"k": 5}, {"lr": 0.1}, {"MAP": 0.5}, 3),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_survives_a_file(record: Record, tmp_path: Path) -> None:
    write_record(tmp_path / "record.json", record)
    assert json.loads((tmp_path / "record.json").read_text())["format"] == 1
    assert read_record(tmp_path / "record.json", type(record), "run it again") == record


def test_values_keep_their_types() -> None:
    found = RunResult.from_dict(json.loads(json.dumps(RUN.as_dict())))
    for name in ("settings", "options"):
        before, after = getattr(RUN, name), getattr(found, name)
        assert {key: type(value) for key, value in after.items()} == {k: type(v) for k, v in before.items()}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"seed": "one"}, "seed is 'one', not of type int"),
        ({"seed": True}, "seed is True, not of type int"),
        ({"dev": [0.5]}, r"dev is \[0.5\], not an object"),
        ({"dev": {"MAP": "high"}}, "dev.MAP is 'high', not a number"),
        ({"epochs": {}}, "epochs is {}, not an array"),
        ({"epochs": [{"epoch": 1}]}, r"epochs\[0\] has no field 'loss'"),
        ({"epochs": [3]}, r"epochs\[0\] is 3, not an object"),
        ({"settings": {"k": [1]}}, r"settings.k is \[1\], not of type str"),
        ({"color": 1.0}, "has the unknown field 'color'"),
        ({"model": None}, "model is None, not of type str"),
        ({"model": ["x" * 100]}, r"model is \['x{35}\.\.\., not of type str"),
    ],
)
def test_a_value_that_does_not_fit_is_named(change: dict[str, object], fault: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"format": 1, **RUN.as_dict(), **change}))
    with pytest.raises(InputError, match=rf"run.json is damaged \(.*{fault}\): run it again\.") as error:
        read_record(path, RunResult, "run it again")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "has no format number"),
        (b'{"model": "a"}', "has no format number"),
        (b'{"format": 0}', "has format 0, and this version reads format 1: run it again"),
        (b'{"format": 9}', "has format 9, and this version reads format 1: install a newer version"),
        (b'{"format": 1}', "the record has no field 'model'"),
    ],
)
def test_a_file_that_is_no_record_is_refused(content: bytes, fault: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=fault):
        read_record(tmp_path / "run.json", RunResult, "run it again")


def test_tuples_of_fixed_length_are_checked() -> None:
    assert decode(tuple[int, str], [1, "a"]) == (1, "a")
    with pytest.raises(ValueError, match="not an array of 2 values"):
        decode(tuple[int, str], [1])
