"""Without Ray or a cluster, the error is one clear line; the function for Spark needs only pandas."""

import sys

import pytest

from pairlight import InputError
from pairlight.batch.job import load_matcher
from pairlight.cluster import train
from pairlight.cluster.connect import connected, model_files
from pairlight.cluster.spark import score_udf
from pairlight.core.records import RecordError, encode_record


def test_a_cluster_without_ray_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(InputError, match=r"needs the package ray: pip install 'pairlight\[cluster\]'"),
        connected("auto"),
    ):
        pass


def test_an_address_where_nothing_answers_is_an_error_at_once():
    pytest.importorskip("ray", reason="the extra cluster is not installed")
    with pytest.raises(InputError, match=r"There is no Ray cluster at 127\.0\.0\.1:1 "), connected("127.0.0.1:1"):
        pass


def test_the_files_of_a_model_are_sent_without_its_checkpoints_wherever_its_folder_is(tmp_path):
    folder = tmp_path / "training" / "model"
    (folder / "training").mkdir(parents=True)
    (folder / "training" / "checkpoint.safetensors").touch()
    for name, content in model_files("qa-small").items():
        (folder / name).write_bytes(content)
    assert model_files(str(folder)) == model_files("qa-small") != {}


def test_the_function_for_spark_adds_scores_to_data_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1, 2], "left": ["where is my parcel", ""], "right": ["it is here", "no"]})
    (found,) = score_udf("qa-small")(iter([frame]))
    assert list(found.columns) == ["n", "left", "right", "score"]
    expected = load_matcher("qa-small").predict([("where is my parcel", "it is here")])[0]
    assert found["score"][0] == pytest.approx(expected)
    assert pd.isna(found["score"][1])


def test_a_damaged_error_of_a_worker_is_one_line(tmp_path):
    path = tmp_path / train.ERROR
    path.write_bytes(encode_record({"message": "Bad input: change it.", "option": "data"}, 1))
    reason = train._reason(str(tmp_path))
    assert (str(reason), reason.option) == ("Bad input: change it.", "data")
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(RecordError, match=r"error\.json is damaged \(not valid JSON\): train again"):
        train._reason(str(tmp_path))
