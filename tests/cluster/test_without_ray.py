"""Without Ray, a cluster is one clear line; the function for Spark needs only pandas."""

import sys

import pytest

from pairlight import InputError, Matcher
from pairlight.cluster.connect import connected
from pairlight.cluster.spark import score_udf


def test_a_cluster_without_ray_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(InputError, match=r"needs the package ray: pip install 'pairlight\[cluster\]'"),
        connected("auto"),
    ):
        pass


def test_the_function_for_spark_adds_scores_to_data_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1, 2], "left": ["where is my parcel", ""], "right": ["it is here", "no"]})
    (found,) = score_udf("qa-small")(iter([frame]))
    assert list(found.columns) == ["n", "left", "right", "score"]
    expected = Matcher.load("qa-small").predict([("where is my parcel", "it is here")])[0]
    assert found["score"][0] == pytest.approx(expected)
    assert pd.isna(found["score"][1])
