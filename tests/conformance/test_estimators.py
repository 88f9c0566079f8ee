"""Every estimator: scikit-learn's own checks, searches with routed qid, others' calling patterns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from directrank.data.groups import QueryGroups
from directrank.estimators import Ranker
from directrank.estimators.methods import METHODS
from directrank.measures import NDCG, evaluate
from directrank.solvers import LBFGS
from directrank.surrogates import SmoothedPositions

CLASSES = tuple(dict.fromkeys(method.estimator for method in METHODS))

#: Parameters that keep a class quick here; the defaults serve a class that is not named.
QUICK = {"ApproxRank": {"max_iterations": 20}, "AdaRank": {"rounds": 10}}


def quick(cls, **parameters):
    wanted = {**QUICK.get(cls.__name__, {}), "n_jobs": 1, **parameters}
    return cls(**{name: value for name, value in wanted.items() if name in cls().get_params()})


def estimators():
    composed = Ranker(SmoothedPositions(NDCG(10)), LBFGS(max_iterations=20), n_jobs=1)
    return [*(quick(cls) for cls in CLASSES), composed]


every = pytest.mark.parametrize("estimator", estimators(), ids=lambda each: type(each).__name__)


@pytest.mark.filterwarnings("ignore:qid is missing:UserWarning")
@parametrize_with_checks(estimators(), expected_failed_checks=lambda estimator: {})
def test_check_estimator(estimator, check):
    check(estimator)


def rows(n_queries=12, n_docs=10, n_features=3, seed=0):
    """X, y, qid; queries of different length in mixed row order."""
    rng = np.random.default_rng(seed)
    sizes = n_docs + np.arange(n_queries) % 3
    X = np.round(rng.normal(size=(sizes.sum(), n_features)), 3)
    y = np.digitize(X @ np.linspace(1.0, 0.2, n_features) + 0.5 * rng.normal(size=len(X)), [0.5, 1.5])
    return X, y.astype(float), np.repeat([f"q{i}" for i in range(n_queries)], sizes)


def bits(ranker):
    return ranker.scorer_.coefficients.tobytes()


@every
def test_predicts_in_the_order_of_rows(estimator):
    X, y, qid = rows()
    order = np.random.default_rng(1).permutation(len(y))
    fitted = clone(estimator).fit(X, y, qid=qid)
    with pytest.warns(UserWarning, match="not next to each other"):
        shuffled = clone(estimator).fit(X[order], y[order], qid=qid[order])
    scores = fitted.predict(X)
    np.testing.assert_array_equal(fitted.predict(X[order]), scores[order])
    np.testing.assert_allclose(shuffled.predict(X), scores, rtol=0, atol=1e-6 * np.abs(scores).max())
    with pytest.warns(UserWarning, match="not next to each other"):
        groups = QueryGroups(X[order], y[order], qid[order])
    np.testing.assert_array_equal(fitted.predict(groups), scores[order])


@every
def test_query_groups_and_arrays_are_the_same(estimator):
    X, y, qid = rows()
    by_arrays = clone(estimator).fit(X, y, qid=qid)
    groups = QueryGroups(X, y, qid)
    by_groups = clone(estimator).fit(groups)
    assert bits(by_arrays) == bits(by_groups)
    assert by_groups.score(groups) == by_arrays.score(X, y, qid=qid)
    assert by_groups.n_features_in_ == 3


@every
def test_qid_of_any_kind_is_the_same(estimator):
    X, y, qid = rows()
    first = clone(estimator).fit(X, y, qid=qid)
    numbers = np.unique(qid, return_inverse=True)[1]
    for other in (qid.tolist(), numbers, numbers.astype(float) - 0.5, pd.Series(qid), 2**62 + numbers):
        assert bits(clone(estimator).fit(X, y, qid=other)) == bits(first)


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


@every
def test_sizes_that_do_not_add_up_are_refused(estimator):
    X, y, qid = rows()
    with pytest.raises(ValueError, match=r"group sizes add up to 7, but there are 132 rows"):
        clone(estimator).fit(X, y, group=[3, 4])
    with pytest.raises(ValueError, match=r"either qid .* or group"):
        clone(estimator).fit(X, y, qid=qid, group=[len(y)])
    with pytest.raises(ValueError, match="holds 2 parts"):
        clone(estimator).fit(X, y, qid=qid, eval_set=[(X, y), (X, y)], eval_group=[[len(y)]] * 2)


@every
def test_missing_qid_is_loud(estimator):
    X, y, qid = rows()
    with pytest.warns(UserWarning, match="qid is missing: all rows are taken as one query"):
        one = clone(estimator).fit(X, y)
    assert bits(one) == bits(clone(estimator).fit(X, y, qid=np.zeros(len(y))))
    with pytest.warns(UserWarning, match="qid is missing"):
        alone = one.score(X, y)
    assert alone != one.score(X, y, qid=qid)
    strict = clone(estimator).set_params(strict_qid=True)
    with pytest.raises(ValueError, match="qid is missing: pass qid="):
        strict.fit(X, y)


@every
def test_weights_of_queries(estimator):
    X, y, qid = rows()
    names = list(dict.fromkeys(qid))
    kept, twice = qid != names[1], qid == names[2]

    def fit(X, y, qid, **options):
        return clone(estimator).fit(X, y, qid=qid, **options).scorer_.coefficients

    zero = fit(X, y, qid, sample_weight=np.where(kept, 1.0, 0.0))
    np.testing.assert_allclose(zero, fit(X[kept], y[kept], qid[kept]), rtol=1e-4, atol=1e-6)
    copied = (
        np.concatenate((X, X[twice])),
        np.concatenate((y, y[twice])),
        np.concatenate((qid, np.full(twice.sum(), "copy"))),
    )
    doubled = fit(X, y, qid, sample_weight=np.where(twice, 2.0, 1.0))
    np.testing.assert_allclose(doubled, fit(*copied), rtol=1e-4, atol=1e-6)
    per_query = fit(X, y, qid, sample_weight=[2.0 if name == names[2] else 1.0 for name in names])
    np.testing.assert_array_equal(per_query, doubled)
    np.testing.assert_allclose(fit(X, y, qid, sample_weight=np.full(len(y), 7.0)), fit(X, y, qid), rtol=1e-4)


@every
def test_whole_weights_inside_a_query_are_copies_of_rows(estimator):
    X, y, qid = rows()
    times = np.random.default_rng(3).integers(1, 3, len(y))
    weighted = clone(estimator).fit(X, y, qid=qid, sample_weight=times)
    copied = clone(estimator).fit(np.repeat(X, times, 0), np.repeat(y, times), qid=np.repeat(qid, times))
    assert bits(weighted) == bits(copied)


@every
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.linspace(0.5, 1.5, 132), "differs between rows of query q0: weights belong to queries"),
        (np.ones(5), r"shape \(5,\), expected \(132,\).* or \(12,\)"),
        (np.full(132, -1.0), "finite and not negative"),
        (np.zeros(132), "zero everywhere: nothing to train on"),
        (np.full(132, np.nan), "finite and not negative"),
    ],
)
def test_weights_that_mean_nothing_are_refused(estimator, weights, message):
    X, y, qid = rows()
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(X, y, qid=qid, sample_weight=weights)


@every
def test_score_is_the_mean_of_the_selection_measure(estimator):
    X, y, qid = rows()
    fitted = clone(estimator).set_params(select_by="nDCG@3").fit(X, y, qid=qid)
    result = evaluate(y, fitted.predict(X), qid, measures="nDCG@3", per_query=True)
    assert fitted.score(X, y, qid=qid) == pytest.approx(result["nDCG@3"], rel=1e-12)
    per_query = np.arange(1.0, 13.0)
    weights = np.repeat(per_query, 10 + np.arange(12) % 3)
    expected = np.average(result.per_query["nDCG@3"], weights=per_query)
    assert fitted.score(X, y, qid=qid, sample_weight=weights) == pytest.approx(expected, rel=1e-12)
    assert fitted.score(X, y, qid, per_query) == pytest.approx(expected, rel=1e-12)


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
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame(named[["length", "bm25", "age"]]))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.predict(X)


@every
def test_names_follow_query_groups(estimator):
    X, y, qid = rows()
    fitted = clone(estimator).fit(QueryGroups(X, y, qid, feature_names=["a", "b", "c"]))
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(fitted.fit(QueryGroups(X, y, qid)), "feature_names_in_")
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3 features"):
        fitted.predict(QueryGroups(X[:, :2], y, qid))


@every
def test_says_how_training_went(estimator):
    X, y, qid = rows()
    X, y, qid = (
        np.concatenate((X, np.ones((2, 3)))),
        np.concatenate((y, [1.0, 0.0])),
        np.concatenate((qid, ["alone", "empty"])),
    )
    fitted = clone(estimator).fit(X, y, qid=qid)
    assert fitted.status_ in {"converged", "stopped", "budget"}
    assert fitted.history_
    assert all(np.isfinite(list(fitted.certificate_.values())))
    assert set(fitted.left_out_) <= {"alone", "empty"}
    if hasattr(fitted._parts()[0], "measure"):
        assert set(fitted.left_out_) == {"alone", "empty"}


@every
def test_nothing_to_train_on_says_why(estimator):
    X, y, qid = rows()
    if not hasattr(estimator._parts()[0], "measure"):
        return
    with pytest.raises(ValueError, match=r"nothing to train on: .* is the same for every ranking"):
        clone(estimator).fit(X, np.zeros(len(y)), qid=qid)


@every
def test_clone_keeps_parameters_and_constructors_store_them(estimator):
    parameters = estimator.get_params(deep=False)
    assert clone(estimator).get_params(deep=False).keys() == parameters.keys()
    twin = type(estimator)(**parameters)
    assert all(twin.get_params(deep=False)[name] is value for name, value in parameters.items())


@every
def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(estimator):
    X, y, qid = rows()
    first = clone(estimator).fit(X, y, qid=qid)
    for n_jobs in (1, 2, None, -1):
        assert bits(clone(estimator).set_params(n_jobs=n_jobs).fit(X, y, qid=qid)) == bits(first)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def grid_of(estimator):
    name = next(
        name for name in ("ridge", "rounds", "penalty", "random_state") if name in estimator.get_params()
    )
    return {name: [0, 1] if name == "random_state" else [1, 2]}


@every
@pytest.mark.usefixtures("routing")
def test_grid_search_routes_qid(estimator):
    X, y, qid = rows()
    cv = GroupKFold(3).set_split_request(groups="qid")
    search = GridSearchCV(clone(estimator), grid_of(estimator), cv=cv).fit(X, y, qid=qid)
    # The same by hand: train, then score the held-out queries, one by one.
    by_hand = []
    for train, test in GroupKFold(3).split(X, y, groups=qid):
        assert not set(qid[train]) & set(qid[test])
        best = clone(estimator).set_params(**search.best_params_).fit(X[train], y[train], qid=qid[train])
        by_hand.append(best.score(X[test], y[test], qid=qid[test]))
    assert search.best_score_ == pytest.approx(np.mean(by_hand), rel=1e-12)
    assert search.score(X, y, qid=qid) == search.best_estimator_.score(X, y, qid=qid)


@every
@pytest.mark.usefixtures("routing")
def test_a_pipeline_routes_qid_and_weights(estimator):
    """A pipeline passes sample_weight to score, whether it was given or not."""
    X, y, qid = rows()
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clone(estimator))
    assert pipe.fit(X, y, qid=qid).score(X, y, qid=qid) > 0.5
    weights = np.where(qid == "q0", 3.0, 1.0)
    assert pipe.score(X, y, qid=qid, sample_weight=weights) > 0.5
    cv = GroupKFold(3).set_split_request(groups="qid")
    grid = {f"{pipe.steps[-1][0]}__{name}": values for name, values in grid_of(estimator).items()}
    search = GridSearchCV(clone(pipe), grid, cv=cv, error_score="raise").fit(X, y, qid=qid)
    assert 0.5 < search.best_score_ <= 1.0
    result = cross_validate(clone(pipe), X, y, cv=cv, params={"qid": qid}, error_score="raise")
    assert (result["test_score"] > 0.5).all()


@every
def test_without_routing_score_does_not_take_rows_as_one_query_in_silence(estimator):
    X, y, qid = rows()
    search = GridSearchCV(clone(estimator), grid_of(estimator), cv=GroupKFold(3))
    with pytest.warns(UserWarning, match="enable metadata routing"):
        search.fit(X, y, qid=qid, groups=qid)


@every
def test_a_pipeline_without_routing_passes_qid_by_step(estimator):
    X, y, qid = rows()
    pipe = Pipeline([("scale", StandardScaler()), ("rank", clone(estimator))])
    alone = clone(estimator).fit(StandardScaler().fit_transform(X), y, qid=qid)
    assert bits(pipe.fit(X, y, rank__qid=qid)["rank"]) == bits(alone)


@every
def test_a_second_fit_forgets_the_first(estimator):
    X, y, qid = rows()
    other = rows(seed=9, n_features=2)
    fitted = clone(estimator).fit(X, y, qid=qid).fit(other[0], other[1], qid=other[2])
    assert fitted.n_features_in_ == 2
    assert bits(fitted) == bits(clone(estimator).fit(other[0], other[1], qid=other[2]))


@every
def test_quiet_where_nothing_is_wrong(estimator):
    X, y, qid = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(estimator).fit(X, y, qid=qid).predict(X)
