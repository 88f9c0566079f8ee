"""Rankers in pipelines of PyTerrier, on an index of Terrier's, beside the pipeline's own learning to rank."""

import os

import numpy as np
import pandas as pd
import pytest

import directrank
from jvm.engines import NotHereError, program
from jvm.shop import judged, shop

pt = pytest.importorskip("pyterrier", reason="PyTerrier was not run: pip install python-terrier")
lightgbm = pytest.importorskip("lightgbm")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
TRAIN, VALID = 18, 24
MODELS = ["WMODEL:BM25", "WMODEL:TF_IDF", "WMODEL:PL2"]


@pytest.fixture(scope="module")
def terrier(tmp_path_factory):
    """Return queries, judgments, and the features of Terrier's documents as a stage of a pipeline."""
    home = tmp_path_factory.mktemp("terrier")
    try:
        jars = program("pyterrier").split(":")[1:]
    except NotHereError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    os.environ["PYTERRIER_HOME"] = str(home)
    for jar in jars:
        os.symlink(jar, home / os.path.basename(jar))
    pt.terrier.set_version("5.11")
    pt.terrier.set_helper_version("0.0.8")
    documents, queries = shop(np.random.default_rng(4))
    texts = [{"docno": one["id"], "text": f"{one['title']} {one['body']}"} for one in documents]
    index = pt.IterDictIndexer(str(home / "index")).index(texts)
    topics = pd.DataFrame(queries.items(), columns=["qid", "query"])
    every = [one["id"] for one in documents]
    lines = judged(documents, queries, dict.fromkeys(queries, every)).splitlines()
    qrels = pd.DataFrame([line.split() for line in lines], columns=["qid", "0", "docno", "label"])
    qrels["label"] = qrels["label"].astype(int)
    features = pt.terrier.FeaturesRetriever(index, MODELS, wmodel="BM25")
    return topics, qrels[["qid", "docno", "label"]], features


def test_a_ranker_reranks_a_pipeline_beside_its_own_learning_to_rank(terrier):
    topics, qrels, features = terrier
    parts = topics[:TRAIN], qrels, topics[TRAIN:VALID], qrels
    learners = {
        "theirs": lightgbm.LGBMRanker(n_estimators=30, min_child_samples=5, verbose=-1, seed=0),
        "ours": directrank.RankSVM(),
    }
    pipelines = {}
    for name, learner in learners.items():
        pipelines[name] = features >> pt.ltr.apply_learned_model(learner, form="ltr")
        pipelines[name].fit(*parts)
    test = topics[VALID:]
    table = pt.Experiment(
        [features, *pipelines.values()], test, qrels, ["ndcg_cut_10"], names=["BM25", *pipelines]
    ).set_index("name")
    # The pipeline's scores are those of the ranker, trained and applied outside of it.
    rows = features(topics).merge(qrels, on=["qid", "docno"], how="left").fillna({"label": 0})
    of = rows.qid.map({name: at for at, name in enumerate(topics.qid)})
    X = np.stack(rows.features.to_list())
    train, valid = of < TRAIN, (of >= TRAIN) & (of < VALID)
    outside = directrank.RankSVM().fit(
        X[train], rows.label[train], qid=rows.qid[train],
        eval_set=[(X[valid], rows.label[valid])], eval_qid=[rows.qid[valid]],
    )  # fmt: skip
    ours = pipelines["ours"](test)
    scores = rows.assign(expected=outside.predict(X, qid=rows.qid))[["qid", "docno", "expected"]]
    merged = ours.merge(scores, on=["qid", "docno"])
    assert len(merged) == len(ours) > 100
    np.testing.assert_allclose(merged.score, merged.expected, rtol=1e-9)
    # trec_eval's nDCG of the pipeline is that of `evaluate_runs`.
    grades = {name: dict(zip(one.docno, one.label, strict=True)) for name, one in qrels.groupby("qid")}
    run = {name: dict(zip(one.docno, one.score, strict=True)) for name, one in ours.groupby("qid")}
    grades = {name: grades[name] for name in run}
    by_us = directrank.evaluate_runs(grades, {"ours": run}, measures=["nDCG@10"], convention="trec_eval")
    assert by_us.mean("ours", "nDCG@10", "trec_eval") == pytest.approx(table.ndcg_cut_10["ours"], abs=1e-6)
    assert table.ndcg_cut_10["ours"] > table.ndcg_cut_10["BM25"]


def test_a_trained_ranker_scores_a_pipeline_by_apply(terrier):
    topics, qrels, features = terrier
    rows = features(topics[:TRAIN]).merge(qrels, on=["qid", "docno"], how="left").fillna({"label": 0})
    ranker = directrank.RankSVM().fit(np.stack(rows.features.to_list()), rows.label, qid=rows.qid)
    rerank = pt.apply.doc_score(lambda part: ranker.predict(np.stack(part.features.to_list())), batch_size=50)
    ranked = (features >> rerank)(topics[TRAIN:])
    expected = ranker.predict(np.stack(ranked.features.to_list()))
    np.testing.assert_array_equal(ranked.score, expected)
    for _, one in ranked.groupby("qid"):
        assert (np.diff(one.sort_values("rank").score) <= 0).all()
