"""Spark: training data from its data frames, and scores by `mapInPandas`, as docs/clusters.md has it."""

import os

import numpy as np
import pandas as pd
import pytest

import directrank
from directrank.apps.cli import main

sql = pytest.importorskip("pyspark.sql", reason="Spark was not run: pip install pyspark")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
FEATURES = ["bm25", "price", "age"]


@pytest.fixture(scope="module")
def spark():
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = sql.SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 1)
    here = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    session = here.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def clicks():
    """Return 60 queries of 5 to 20 documents in any order of rows."""
    rng = np.random.default_rng(6)
    qid = np.repeat(np.arange(60), rng.integers(5, 21, 60))
    frame = pd.DataFrame(rng.normal(size=(len(qid), 3)).astype(np.float32), columns=FEATURES)
    relevance = (frame.bm25 - frame.age + rng.normal(size=len(qid)) > 1).astype(int)
    frame = frame.assign(qid=qid, relevance=relevance, docid=[f"d{row}" for row in range(len(qid))])
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


def test_a_frame_of_spark_trains_the_ranker_that_its_rows_train(spark, clicks, tmp_path, capsys):
    table, store, model = spark.createDataFrame(clicks), tmp_path / "train.store", tmp_path / "model.dr"
    rows = table.select("qid", "docid", "relevance", *FEATURES)
    folder = tmp_path / "train.parquet"
    rows.coalesce(1).write.parquet(str(folder))
    assert main(["convert", str(folder), "-o", str(store)]) == 3
    assert "Spark writes one file by coalesce(1)" in capsys.readouterr().err
    (file,) = folder.glob("part-*.parquet")
    assert main(["convert", str(file), "-o", str(store)]) == 0
    assert main(["fit", "ranksvm", str(store), "-o", str(model)]) == 0
    expected = directrank.RankSVM().fit(clicks[FEATURES], clicks.relevance, qid=clicks.qid)
    scores = directrank.load(model).predict(clicks[FEATURES])
    np.testing.assert_allclose(scores, expected.predict(clicks[FEATURES]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["RankSVM", "RankBoost"])
def test_scores_by_map_in_pandas_are_those_of_predict(spark, clicks, tmp_path, method):
    ranker = getattr(directrank, method)().fit(clicks[FEATURES], clicks.relevance, qid=clicks.qid)
    path = str(tmp_path / "model.dr")
    directrank.save(ranker, path)

    def scored(parts):
        model = directrank.load(path)  # once in each task
        for part in parts:
            yield part[["qid", "docid"]].assign(score=model.predict(part[FEATURES]))

    table = spark.createDataFrame(clicks).repartition(2)
    scores = table.mapInPandas(scored, "qid long, docid string, score double").toPandas()
    expected = dict(zip(clicks.docid, ranker.predict(clicks[FEATURES]), strict=True))
    assert scores.set_index("docid").score.to_dict() == expected
    whole = (
        table.where("qid < 3")
        .groupBy("qid")
        .applyInPandas(lambda query: next(scored([query])), "qid long, docid string, score double")
    )
    few = {docid: expected[docid] for docid in clicks.docid[clicks.qid < 3]}
    assert whole.toPandas().set_index("docid").score.to_dict() == few
