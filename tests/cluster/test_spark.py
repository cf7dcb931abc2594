"""The function for Spark, in a local Spark with two workers."""

import shutil
import sys

import pytest

from pairlight.batch.job import load_matcher
from pairlight.cluster.spark import score_udf
from toy_pairs import overlap

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def spark(monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


def test_spark_adds_the_scores_of_one_process(spark):
    given = overlap(30, seed=0)
    left, right = ([given.texts[i] for i in side] for side in (given.left, given.right))
    rows = [(n, *pair) for n, pair in enumerate(zip(left, right, strict=True))]
    rows.append((len(rows), "no right text", None))
    schema = "n long, left string, right string"
    frame = spark.createDataFrame(rows, schema).repartition(3)
    scored = frame.mapInPandas(score_udf("qa-small"), f"{schema}, score float").orderBy("n").collect()
    assert [row["n"] for row in scored] == list(range(len(rows)))
    assert [(row["left"], row["right"]) for row in scored[:-1]] == list(zip(left, right, strict=True))
    expected = load_matcher("qa-small").predict(given)
    assert [row["score"] for row in scored[:-1]] == pytest.approx(expected.tolist(), rel=1e-6, abs=1e-6)
    assert scored[-1]["score"] is None
