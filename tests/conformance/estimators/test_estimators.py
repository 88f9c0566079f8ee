"""Every estimator: rows, queries, parameters and scores."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from directrank import DataError, evaluate
from directrank.data.groups import QueryGroups
from directrank.estimators import inputs
from directrank.scorers import Linear
from estimator_examples import bits, every, one, rows


@pytest.mark.share(3)
@every
def test_predicts_in_the_order_of_rows(estimator):
    X, y, qid = rows()
    order = np.random.default_rng(1).permutation(len(y))
    fitted = clone(estimator).fit(X, y, qid=qid)
    shuffled = clone(estimator).fit(X[order], y[order], qid=qid[order])
    scores = fitted.predict(X)
    np.testing.assert_array_equal(fitted.predict(X[order]), scores[order])
    np.testing.assert_allclose(shuffled.predict(X), scores, rtol=0, atol=1e-6 * np.abs(scores).max())
    groups = QueryGroups(X[order], y[order], qid[order])
    np.testing.assert_array_equal(fitted.predict(groups), scores[order])


@one
def test_qid_of_any_kind_is_the_same(estimator):
    X, y, qid = rows()
    first = clone(estimator).fit(X, y, qid=qid)
    numbers = np.unique(qid, return_inverse=True)[1]
    for other in (qid.tolist(), numbers, numbers.astype(float) - 0.5, pd.Series(qid), 2**62 + numbers):
        assert bits(clone(estimator).fit(X, y, qid=other)) == bits(first)


@pytest.mark.share(3)
@every
def test_group_sizes_stand_for_qid(estimator):
    """PyTerrier's pattern: sizes of queries, and lists of one validation part."""
    X, y, qid = rows()
    counts = np.array([(qid == name).sum() for name in dict.fromkeys(qid)])
    Xv, yv, qv = rows(seed=5)
    valid_counts = np.array([(qv == name).sum() for name in dict.fromkeys(qv)])
    by_group = clone(estimator).fit(X, y, group=counts, eval_set=[(Xv, yv)], eval_group=[valid_counts])
    by_qid = clone(estimator).fit(X, y, qid=qid, eval_set=(Xv, yv, qv))
    by_groups = clone(estimator).fit(QueryGroups(X, y, qid), eval_set=QueryGroups(Xv, yv, qv))
    assert bits(by_group) == bits(by_qid) == bits(by_groups)
    by_eval_qid = clone(estimator).fit(X, y, qid=qid, eval_set=[(Xv, yv)], eval_qid=[qv])
    assert bits(by_eval_qid) == bits(by_qid)


@one
def test_more_rows_without_qid_than_scikit_learns_checks_have_are_refused(estimator, monkeypatch):
    monkeypatch.setattr(inputs, "WARNED", set())
    X, y, qid = rows(n_queries=14)
    fitted = clone(estimator).fit(X, y, qid=qid)
    with pytest.raises(DataError, match="qid is missing for 153 rows: pass qid="):
        clone(estimator).fit(X, y)
    with pytest.raises(DataError, match="qid is missing for 153 rows: pass qid="):
        fitted.score(X, y)
    assert inputs.MOST_WITHOUT_QID == 150
    # Without metadata routing scikit-learn's functions score without qid.
    with pytest.raises(DataError, match=r"qid is missing for 31 rows: pass qid=.*set_score_request"):
        fitted.score(X[:31], y[:31])
    with pytest.warns(UserWarning, match="qid is missing: all rows are taken as one query"):
        fitted.score(X[:30], y[:30])


@every
def test_score_is_ndcg_at_10_or_the_measure_asked_for(estimator):
    X, y, qid = rows()
    fitted = clone(estimator).fit(X, y, qid=qid)
    by_default = evaluate(y, fitted.predict(X), qid, measures="nDCG@10")["nDCG@10"]
    assert fitted.score(X, y, qid=qid) == pytest.approx(by_default, rel=1e-12)
    fitted = clone(estimator).set_params(select_by="nDCG@3").fit(X, y, qid=qid)
    result = evaluate(y, fitted.predict(X), qid, measures="nDCG@3", per_query=True)
    assert fitted.score(X, y, qid=qid) == pytest.approx(result["nDCG@3"], rel=1e-12)
    per_query = np.arange(1.0, 13.0)
    weights = np.repeat(per_query, 10 + np.arange(12) % 3)
    expected = np.average(result.per_query["nDCG@3"], weights=per_query)
    assert fitted.score(X, y, qid=qid, sample_weight=weights) == pytest.approx(expected, rel=1e-12)
    assert fitted.score(X, y, qid, per_query) == pytest.approx(expected, rel=1e-12)


@every
def test_says_how_training_went(estimator):
    X, y, qid = rows()
    X, y, qid = (
        np.concatenate((X, np.ones((2, 3)))),
        np.concatenate((y, [1.0, 0.0])),
        np.concatenate((qid, ["alone", "empty"])),
    )
    fitted = clone(estimator).fit(X, y, qid=qid)
    assert fitted.status_ in {"converged", "stopped", "budget", "complete"}
    assert fitted.history_
    assert all(np.isfinite(list(fitted.certificate_.values())))
    assert set(fitted.left_out_) <= {"alone", "empty"}
    if fitted.components()[0].measure:
        assert set(fitted.left_out_) == {"alone", "empty"}
        assert "Skipped 2 of 14 queries with nothing to learn from: alone, empty" in fitted.notes_


@every
def test_nothing_to_train_on_says_why(estimator):
    X, y, qid = rows()
    if not estimator.components()[0].measure:
        return
    with pytest.raises(ValueError, match=r"nothing to train on: .* is the same for every ranking"):
        clone(estimator).fit(X, np.zeros(len(y)), qid=qid)


@pytest.mark.share(2)
@every
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(estimator):
    X, y, qid = rows()
    first = clone(estimator).fit(X, y, qid=qid)
    for n_jobs in (1, 2, None, -1):
        assert bits(clone(estimator).set_params(n_jobs=n_jobs).fit(X, y, qid=qid)) == bits(first)


@pytest.mark.share(3)
@every
def test_a_second_fit_forgets_the_first(estimator):
    X, y, qid = rows()
    other = rows(seed=9, n_features=2)
    if "rounds" in estimator.get_params():
        estimator = clone(estimator).set_params(rounds=4)
    fitted = clone(estimator).fit(X, y, qid=qid).fit(other[0], other[1], qid=other[2])
    assert fitted.n_features_in_ == 2
    assert bits(fitted) == bits(clone(estimator).fit(other[0], other[1], qid=other[2]))


@every
def test_coefficients_are_those_of_a_linear_scorer_and_of_no_other(estimator):
    X, y, qid = rows()
    assert not hasattr(clone(estimator), "coef_")
    fitted = clone(estimator).fit(X, y, qid=qid)
    if not isinstance(fitted.scorer_, Linear):
        assert not hasattr(fitted, "coef_")
        with pytest.raises(AttributeError, match=r"no coef_: it has the scorer (Additive|Trees)\(\d+"):
            fitted.coef_  # noqa: B018
        return
    assert fitted.coef_.dtype == np.float64
    assert fitted.coef_.shape == (3,)
    np.testing.assert_allclose(X @ fitted.coef_, fitted.predict(X), rtol=1e-4, atol=1e-5)
    assert repr(fitted.scorer_) == "Linear(3 coefficients)"
