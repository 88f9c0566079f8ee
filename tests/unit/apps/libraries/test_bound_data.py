"""Our objectives and measures inside LightGBM and XGBoost, called by the user."""

import lightgbm
import numpy as np
import pytest
import xgboost
from scipy.special import softmax

import directrank.lightgbm
import directrank.xgboost
from directrank import evaluate, make_ranking
from directrank.apps.libraries.library_data import BITS, on_a_grid
from directrank.data.groups import QueryGroups

OBJECTIVES = ("lambdarank", "lambdaloss", "approxndcg", "approxap", "consistent-ndcg", "listnet", "xendcg")


@pytest.fixture(scope="module")
def groups():
    """Queries one after the other; grades depend on a product of features, and some values are missing."""
    made = make_ranking(50, 25, 5, uneven=0.3, random_state=0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(made.n_docs, 5)).astype(np.float32)
    utility = X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X))
    X[rng.random(X.shape) < 0.05] = np.nan
    qid = np.repeat(np.arange(made.n_queries), made.queries.sizes)
    return QueryGroups(X, np.digitize(utility, [0.5, 1.5]), qid)


def of_lightgbm(groups, **more):
    sizes = None if more.pop("bare", False) else groups.queries.sizes
    given = {"group": sizes, "params": {"verbose": -1}, **more}
    return lightgbm.Dataset(groups.X, groups.relevance, **given).construct()


def of_xgboost(groups, **more):
    numbers = np.unique(groups.qid, return_inverse=True)[1]
    qid = None if more.pop("bare", False) else numbers
    return xgboost.DMatrix(groups.X, groups.relevance, qid=qid, nthread=1, **more)


LIBRARIES = {"lightgbm": (directrank.lightgbm, of_lightgbm), "xgboost": (directrank.xgboost, of_xgboost)}
both = pytest.mark.parametrize(("ours", "data_of"), LIBRARIES.values(), ids=LIBRARIES)


def trained(name, objective, data, rounds):
    """Return the scores of training rows at the library's default parameters."""
    if name == "lightgbm":
        given = {"objective": objective, "verbose": -1, "num_threads": 1}
        return lightgbm.train(given, data, rounds).predict(data.get_data(), num_threads=1)
    quiet = {"nthread": 1, "disable_default_eval_metric": True}
    return xgboost.train(quiet, data, rounds, obj=objective).predict(data, output_margin=True)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("method", OBJECTIVES)
def test_trees_grow_at_the_default_parameters(method, name, groups):
    ours, data_of = LIBRARIES[name]
    data = data_of(groups, free_raw_data=False) if name == "lightgbm" else data_of(groups)
    scores = trained(name, ours.objective(method, n_jobs=1), data, 60)
    assert len(np.unique(scores)) > 100
    constant = evaluate(groups, np.zeros(groups.n_docs), measures="nDCG@10")["nDCG@10"]
    assert evaluate(groups, scores, measures="nDCG@10")["nDCG@10"] > constant + 0.3


@both
def test_the_objective_is_a_multiple_of_the_sum_over_queries(ours, data_of, groups):
    """ListNet's gradient is the difference of two softmax vectors, its curvature P (1 − P)."""
    scores = np.random.default_rng(1).normal(size=groups.n_docs)
    gradient, curvature = ours.objective("listnet")(scores, data_of(groups))
    assert 0.7 < curvature.mean(dtype=np.float64) < 1.42
    factors = set()
    for q in (0, 7, 31):
        mine = groups.qid == q
        shares, target = (softmax(each[mine]) for each in (scores, groups.relevance))
        factor = 2.0 ** np.rint(np.log2(gradient[mine] @ (shares - target) / np.sum((shares - target) ** 2)))
        np.testing.assert_allclose(gradient[mine], factor * (shares - target), rtol=0, atol=1e-6 * factor)
        assert (curvature[mine] >= factor * (shares * (1 - shares) - 1e-6)).all()
        factors.add(factor)
    assert len(factors) == 1
    assert gradient.dtype == curvature.dtype == np.float32


@both
def test_weights_belong_to_queries(ours, data_of, groups):
    scores = np.zeros(groups.n_docs)
    per_query = np.linspace(0.5, 2.0, groups.n_queries)
    rows = np.repeat(per_query, groups.queries.sizes)
    plain = ours.objective("listnet")(scores, data_of(groups))[0]
    weighted = ours.objective("listnet", weights=per_query)(scores, data_of(groups))[0]
    np.testing.assert_allclose(weighted, plain * rows / per_query.mean(), rtol=0, atol=1e-5)
    own = data_of(groups, weight=rows if ours is directrank.lightgbm else per_query)
    found = ours.objective("listnet")(scores, own)[0]
    np.testing.assert_allclose(found, weighted, rtol=0, atol=1e-6)  # They keep weights in float32.


def test_measures_judge_in_both_libraries(groups):
    expected = evaluate(groups, np.zeros(groups.n_docs), measures="nDCG@5")["nDCG@5"]
    metric = directrank.lightgbm.eval_metric("nDCG@5")
    assert metric(np.zeros(groups.n_docs), of_lightgbm(groups)) == ("nDCG@5", pytest.approx(expected), True)
    data, other = (of_lightgbm(groups, free_raw_data=False) for _ in range(2))
    found = {}
    parameters = {"objective": directrank.lightgbm.objective("lambdaloss"), "metric": "none", "verbose": -1}
    callbacks = [lightgbm.record_evaluation(found), lightgbm.early_stopping(3, verbose=False)]
    booster = lightgbm.train(
        {**parameters, "num_threads": 1}, data, 8, valid_sets=[other], feval=metric, callbacks=callbacks
    )
    assert found["valid_0"]["nDCG@5"][-1] > expected
    assert booster.best_score["valid_0"]["nDCG@5"] == max(found["valid_0"]["nDCG@5"])
    matrix, found = of_xgboost(groups), {}
    xgboost.train(
        {"nthread": 1, "disable_default_eval_metric": True}, matrix, 8, evals=[(matrix, "training")],
        obj=directrank.xgboost.objective("lambdaloss"), maximize=True, verbose_eval=False, evals_result=found,
        custom_metric=directrank.xgboost.eval_metric("nDCG@5"), early_stopping_rounds=3,
    )  # fmt: skip
    assert found["training"]["nDCG@5"][-1] > expected


def test_a_warm_start_begins_at_the_scores_given(groups):
    start, seen = np.linspace(-1.0, 1.0, groups.n_docs), []
    derive = directrank.lightgbm.objective("listnet")

    def watched(scores, data):
        seen.append(scores.copy())
        return derive(scores, data)

    lightgbm.train(
        {"objective": watched, "verbose": -1, "num_threads": 1}, of_lightgbm(groups, init_score=start), 2
    )
    np.testing.assert_array_equal(seen[0], start)
    assert not np.array_equal(seen[1], start)


@pytest.mark.parametrize("weighted", [False, True])
def test_lgbm_ranker_takes_objectives_and_measures(weighted):
    """It passes arrays in place of a data set, and trains the same trees."""
    rng = np.random.default_rng(4)
    X, y, sizes = rng.normal(size=(400, 4)), rng.integers(0, 3, 400), np.full(20, 20)
    weights = np.repeat(rng.integers(1, 4, 20).astype(float), 20) if weighted else None
    options = {"num_leaves": 7, "verbose": -1, "deterministic": True, "force_row_wise": True}
    data = lightgbm.Dataset(X, y, group=sizes, weight=weights)
    parameters = {**options, "objective": directrank.lightgbm.objective("approxndcg"), "num_threads": 1}
    expected = lightgbm.train(parameters, data, 8).predict(X)
    ranker = lightgbm.LGBMRanker(
        objective=directrank.lightgbm.objective("approxndcg"), n_estimators=8, n_jobs=1, **options
    )
    ranker.fit(X, y, group=sizes, sample_weight=weights)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    judge = directrank.lightgbm.eval_metric("nDCG@5")
    qid = np.repeat(np.arange(20), 20)
    for relevance, n in ((y, 400), (y[:200], 200), (y, 400)):
        name, value, larger = judge(relevance, expected[:n], None, sizes[: n // 20])
        groups = QueryGroups(X[:n], relevance, qid[:n])
        assert (name, larger) == ("nDCG@5", True)
        assert value == evaluate(groups, expected[:n], measures=["nDCG@5"])["nDCG@5"]


def test_derivatives_are_on_a_grid():
    rng = np.random.default_rng(0)
    values = rng.normal(size=10_000) * 10.0 ** rng.integers(-6, 3, 10_000)
    rounded = on_a_grid(values).astype(np.float64)
    assert np.abs(rounded - values).max() <= np.abs(values).max() * 2.0 ** (1 - BITS)
    assert rounded.sum() == rounded[::-1].sum() == np.sort(rounded).sum()
    assert on_a_grid(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
