"""Every estimator: weights of queries, and data frames with named columns."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info

from directrank import evaluate, load, save
from directrank.apps.papers import YetiLoss
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.estimators import (
    ApproxRank,
    CoordinateAscent,
    LambdaLoss,
    LambdaRank,
    PLRank,
    Ranker,
    Regression,
)
from directrank.measures import NDCG
from directrank.scorers import Trees
from directrank.solvers import LBFGS
from directrank.surrogates import SmoothedPositions
from estimator_examples import bits, every, rows


@every
def test_the_validation_part_is_the_judge(estimator):
    X, y, qid = rows()
    Xv, yv, qv = rows(seed=5)
    if isinstance(estimator, CoordinateAscent):  # The judge chooses in every run; the result is their mean.
        estimator = clone(estimator).set_params(runs=1)
    fitted = clone(estimator).fit(X, y, qid=qid, eval_set=(Xv, yv, qv))
    on_training = fitted.get_params().get("best_on") == "training"  # by design, and by name
    assert judged(fitted) == (selecting(fitted, X, y, qid) if on_training else selecting(fitted, Xv, yv, qv))
    alone = clone(estimator).fit(X, y, qid=qid)
    assert judged(alone) == selecting(alone, X, y, qid)


def selecting(fitted, X, y, qid) -> float:
    """The mean of the measure that selects."""
    return fitted.set_params(select_by=fitted.selected_by_).score(X, y, qid=qid)


def judged(fitted) -> float:
    """The judge's value of what is kept: the best, or the last where all rounds are kept."""
    values = [row["monitor"] for row in fitted.history_ if "monitor" in row]
    keeps_last = isinstance(fitted, (LambdaLoss, LambdaRank, PLRank, YetiLoss)) or getattr(
        fitted, "rounds_", None
    ) == len(values)
    return values[-1] if keeps_last else max(values)


class Watching(LBFGS):
    """Notes how many threads the linear algebra may use while it runs."""

    def solve(self, objective, scorer, features, monitor, rng):
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        self.seen = {pool["num_threads"] for pool in pools}
        return super().solve(objective, scorer, features, monitor, rng)


def test_a_solver_runs_on_one_thread_of_linear_algebra():
    X, y, qid = rows()
    solver = Watching(max_iterations=2)
    Ranker(SmoothedPositions(NDCG()), solver).fit(X, y, qid=qid)
    assert solver.seen == {1}


@pytest.mark.share(2)
@every
def test_weights_of_queries(estimator):
    X, y, qid = rows()
    names = list(dict.fromkeys(qid))
    kept, twice = qid != names[1], qid == names[2]

    # Stepping query by query, one of weight two is not two of them before the optimum is reached.
    whole = {"solver": "ocas", "tolerance": 1e-9, "max_passes": 500}
    # Where a feature has more values than bins, these count documents.
    special = {"StructuralSVM": whole, "TreeRanker": {"bins": len(y)}}

    def fit(X, y, qid, **options):
        ranker = clone(estimator).set_params(**special.get(type(estimator).__name__, {}))
        scorer = ranker.fit(X, y, qid=qid, **options).scorer_
        return scorer.value if isinstance(scorer, Trees) else scorer.coefficients

    zero = fit(X, y, qid, sample_weight=np.where(kept, 1.0, 0.0))
    np.testing.assert_allclose(zero, fit(X[kept], y[kept], qid[kept]), rtol=1e-4, atol=1e-6)
    copied = (
        np.concatenate((X, X[twice])),
        np.concatenate((y, y[twice])),
        np.concatenate((qid, np.full(twice.sum(), "copy"))),
    )
    doubled = fit(X, y, qid, sample_weight=np.where(twice, 2.0, 1.0))
    # The perceptron has no optimum: one step of size two is not two steps.
    if type(estimator).__name__ != "StructuralPerceptron":
        np.testing.assert_allclose(doubled, fit(*copied), rtol=1e-4, atol=1e-6)
    per_query = fit(X, y, qid, sample_weight=[2.0 if name == names[2] else 1.0 for name in names])
    np.testing.assert_array_equal(per_query, doubled)
    np.testing.assert_allclose(fit(X, y, qid, sample_weight=np.full(len(y), 7.0)), fit(X, y, qid), rtol=1e-4)


@pytest.mark.share(3)
@every
def test_whole_weights_inside_a_query_are_copies_of_rows(estimator):
    X, y, qid = rows()
    times = np.random.default_rng(3).integers(1, 3, len(y))
    weighted = clone(estimator).fit(X, y, qid=qid, sample_weight=times)
    copied = clone(estimator).fit(np.repeat(X, times, 0), np.repeat(y, times), qid=np.repeat(qid, times))
    assert bits(weighted) == bits(copied)


@every
def test_fractions_inside_a_query_are_confidences_of_labels_or_refused(estimator):
    X, y, qid = rows()
    weights = np.random.default_rng(3).choice([0.5, 1.5], len(y))
    ranker = clone(estimator)
    parts = ranker.components() if hasattr(ranker, "components") else ()
    if parts and getattr(parts[0], "weighs_documents", False):
        other = clone(estimator).fit(X, y, qid=qid)
        assert bits(ranker.fit(X, y, qid=qid, sample_weight=weights)) != bits(other)
        return
    with pytest.raises(
        ValueError, match="differs between rows of query q0: weights belong to queries, as this"
    ):
        ranker.fit(X, y, qid=qid, sample_weight=weights)


@pytest.mark.share(4)
@every
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas], ids=["pd", "pl", "pa"])
def test_frames_name_their_features(estimator, frame):
    X, y, qid = rows()
    named = pd.DataFrame(X, columns=["bm25", "length", "age"])
    table = frame(named)
    fitted = clone(estimator).fit(table, y, qid=qid)
    assert fitted.feature_names_in_.tolist() == ["bm25", "length", "age"]
    assert bits(fitted) == bits(clone(estimator).fit(X, y, qid=qid))
    np.testing.assert_array_equal(fitted.predict(table), fitted.predict(named))
    other = frame(named.assign(more=0.0)[["length", "more", "bm25", "age"]])
    np.testing.assert_array_equal(fitted.predict(other), fitted.predict(named))
    assert fitted.score(other, y, qid=qid) == fitted.score(named, y, qid=qid)
    with pytest.raises(DataError, match=r"^X has no column 'bm25', 'age', which the model was fitted with$"):
        fitted.predict(frame(named[["length"]]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.predict(X)


@every
def test_names_are_the_rule_wherever_features_come_in(estimator, tmp_path):
    X, y, qid = rows()
    named = QueryGroups(X, y, qid, feature_names=["a", "b", "c"])
    turned = QueryGroups(X[:, [2, 0, 1]], y, qid, feature_names=["c", "a", "b"])
    less = QueryGroups(X[:, :2], y, qid, feature_names=["a", "b"])
    fitted = clone(estimator).fit(named, eval_set=named)
    assert bits(clone(estimator).fit(named, eval_set=turned)) == bits(fitted)
    scores = fitted.predict(named)
    save(fitted, tmp_path / "m.dr")
    for ranker in (fitted, load(tmp_path / "m.dr")):
        np.testing.assert_array_equal(ranker.predict(turned), scores)
        assert ranker.score(turned) == ranker.score(named)
        for call in (ranker.predict, ranker.score):
            with pytest.raises(DataError, match="X has no column 'c', which the model was fitted with"):
                call(less)
    with pytest.raises(DataError, match="X has no column 'c'"):
        clone(estimator).fit(named, eval_set=less)
    frame = pd.DataFrame(X[:, [2, 0, 1]], columns=["c", "a", "b"])
    np.testing.assert_array_equal(fitted.predict(frame), scores)


def test_a_start_gives_its_coefficients_by_name():
    X, y, qid = rows()
    start = Regression().fit(QueryGroups(X, y, qid, feature_names=["a", "b", "c"]))
    turned = QueryGroups(X[:, [2, 0, 1]], y, qid, feature_names=["c", "a", "b"])
    ranker = ApproxRank("AP", start=start, max_iterations=1).fit(turned)
    by_array = ApproxRank("AP", start=start.coef_[[2, 0, 1]], max_iterations=1).fit(
        X[:, [2, 0, 1]], y, qid=qid
    )
    np.testing.assert_array_equal(ranker.coef_, by_array.coef_)
    by_frame = ApproxRank("AP", start=start, max_iterations=1)
    by_frame.fit(pd.DataFrame(X[:, [2, 0, 1]], columns=["c", "a", "b"]), y, qid=qid)
    np.testing.assert_array_equal(by_frame.coef_, ranker.coef_)
    with pytest.raises(DataError, match="start was fitted without the feature 'd'"):
        ranker.fit(QueryGroups(X, y, qid, feature_names=["a", "b", "d"]))


def test_a_number_and_its_text_are_two_queries():
    X = [[0.0], [1.0], [2.0], [3.0]]
    fitted = Regression().fit(X, [0, 1, 1, 0], qid=[1, "1", 1, "1"])
    assert fitted.score(X, [0, 1, 1, 0], qid=[1, "1", 1, "1"]) < 1
    assert evaluate([0, 1, 1, 0], [0.0, 1, 2, 3], qid=[1, "1", 1, "1"], per_query=True).qid.tolist() == [
        1,
        "1",
    ]
    weighted = Regression().fit(X, [0, 1, 1, 0], qid=[1, "1", 1, "1"], sample_weight=[1, 2, 3, 4])
    assert np.isfinite(weighted.coef_).all()
