"""Least squares in closed form: by hand, singular, badly scaled, and over shards."""

import numpy as np
import pytest
from scipy.linalg import lstsq

from directrank.data.groups import QueryGroups
from directrank.scorers import Linear
from directrank.solvers import ClosedForm
from directrank.surrogates import Objective, SquaredError


class Silent:
    """A monitor that is not interested."""

    def __init__(self, groups):
        self.features = groups.features

    def __call__(self, scores):
        return 0.0


def coefficients(X, y, qid=None, weights=None, ridge=0.0):
    groups = QueryGroups(X, y, np.zeros(len(y)) if qid is None else qid)
    objective = Objective(SquaredError(), groups.queries, groups.shards, weights=weights)
    rng = np.random.default_rng(0)
    solution = ClosedForm(ridge=ridge).solve(objective, Linear(), groups.features, Silent(groups), rng)
    return solution.scorer.coefficients, solution


def test_a_line_by_hand():
    # Through (0, 0), (1, 1), (2, 3): slope Σ(x − 1)(y − 4/3) / Σ(x − 1)² = (4/3 + 5/3) / 2.
    found, solution = coefficients([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0])
    assert found[0] == pytest.approx(3 / 2, rel=1e-13)
    assert solution.status == "converged"


def test_ridge_by_hand():
    # One standardised feature of correlation r: r / (1 + ridge), here r = 1.
    X = np.array([[-1.0], [1.0]])
    assert coefficients(X, [0.0, 2.0])[0][0] == pytest.approx(1.0)
    assert coefficients(X, [0.0, 2.0], ridge=0.25)[0][0] == pytest.approx(1 / 1.25)


def test_constant_features_weigh_exactly_nothing():
    X = np.random.default_rng(2).normal(size=(40, 4))
    X[:, 1], X[:, 3] = 7.0, 0.0
    found, solution = coefficients(X, np.abs(X[:, 0]))
    assert found[1] == 0.0
    assert found[3] == 0.0
    assert solution.certificate["rank"] == 2
    assert solution.message == "rank 2 of 4 features"


def test_equal_features_share_their_weight():
    x = np.random.default_rng(3).normal(size=(30, 1))
    found, solution = coefficients(np.hstack((x, x, -x)), (2 * x[:, 0] + 9).astype(np.float32))
    np.testing.assert_allclose(found, [2 / 3, 2 / 3, -2 / 3], rtol=1e-5)
    assert solution.certificate["rank"] == 1


@pytest.mark.share(3)
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("shape", [(3, 10), (40, 700), (800, 530), (2500, 530)])
def test_few_documents_and_wide_features_against_least_squares(shape, ridge):
    rng = np.random.default_rng(5)
    X = rng.normal(3.0, 2.0, shape).astype(np.float32)
    y = rng.integers(0, 3, shape[0]).astype(float)
    found, solution = coefficients(X, y, np.arange(shape[0]) // 3, ridge=ridge)
    # Standardised features and rows of the penalty: least squares of minimum norm, in float64.
    centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    deviation = np.sqrt(np.square(centred).mean(axis=0))
    rows = np.vstack((centred / deviation / np.sqrt(shape[0]), np.sqrt(ridge) * np.eye(shape[1])))
    targets = np.append((y - y.mean()) / np.sqrt(shape[0]), np.zeros(shape[1]))
    expected = lstsq(rows, targets, cond=1e-6, lapack_driver="gelsy")[0] / deviation
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)
    assert solution.certificate["rank"] == min(shape[0] - 1, shape[1])


def test_products_in_float32_give_the_digits_of_float64(monkeypatch):
    rng = np.random.default_rng(8)
    X = (rng.normal(size=(1800, 520)) + rng.normal(size=(1800, 1)) + 1000.0).astype(np.float32)
    y, qid = rng.integers(0, 3, 1800).astype(float), np.arange(1800) // 3
    with monkeypatch.context() as patch:
        patch.setattr(ClosedForm, "_minimum", lambda *data: pytest.fail("the steps have not ended"))
        refined, _ = coefficients(X, y, qid)
    centred = X - X.mean(axis=0, dtype=np.float64)
    expected = lstsq(centred, y - y.mean(), lapack_driver="gelsy")[0]
    np.testing.assert_allclose(refined, expected, rtol=1e-9, atol=1e-11)
    monkeypatch.setattr(ClosedForm, "_refined", lambda *data: pytest.fail("not for few features"))
    coefficients(X[:, :500], y, qid)
    monkeypatch.setattr(ClosedForm, "_refined", lambda *data: None)
    in_float64, _ = coefficients(X, y, qid)
    np.testing.assert_allclose(refined, in_float64, rtol=1e-9, atol=1e-12)


def test_wide_features_that_are_dependent_have_the_solution_of_minimum_norm():
    rng = np.random.default_rng(6)
    x = rng.integers(-3, 4, (800, 256)).astype(float)
    found, solution = coefficients(np.hstack((x, x)), np.abs(x[:, 0]), np.arange(800) // 4)
    np.testing.assert_allclose(found[:256], found[256:], rtol=1e-6, atol=1e-12)
    assert solution.certificate["rank"] == 256


def test_scales_of_features_do_not_matter():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 3)).astype(np.float32)
    y = np.abs(X.sum(axis=1))
    scale = np.array([1e-12, 1.0, 1e12], np.float32)
    plain, scaled = coefficients(X, y)[0], coefficients(X * scale, y)[0]
    np.testing.assert_allclose(scaled * scale, plain, rtol=1e-5)


def test_weights_of_queries_count_documents():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    y, qid = [0.0, 1.0, 0.0, 3.0], [0, 0, 1, 1]
    # Slopes 1 and 3: the mean by weight.
    assert coefficients(X, y, qid)[0][0] == pytest.approx(2.0)
    assert coefficients(X, y, qid, np.array([3.0, 1.0]))[0][0] == pytest.approx(1.5)


@pytest.mark.parametrize("offset", [1e6, 1e7, -3e7])
@pytest.mark.parametrize(("n_docs", "n_features"), [(480, 8), (20, 30), (1400, 520)])
def test_features_far_from_0_have_the_solution_of_float64(offset, n_docs, n_features):
    rng = np.random.default_rng(2)
    X = (4.0 * rng.normal(size=(n_docs, n_features)) + offset).astype(np.float32)
    y = X[:, :3].astype(np.float64) @ [1.0, 0.5, -0.5] + rng.normal(size=n_docs)
    y -= y.min()
    found, solution = coefficients(X, y)
    centred = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    expected = lstsq(centred / scale, y - y.mean(), cond=1e-9)[0] / scale
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert solution.certificate["rank"] == min(n_docs - 1, n_features)


@pytest.mark.parametrize("weights", [None, [0.0, 1.0, 2.0]])
def test_a_feature_is_constant_only_if_it_has_one_value(weights):
    rng = np.random.default_rng(3)
    X = np.full((300, 4), [0.1, 1e7, 1e-20, 1.0], np.float32)
    X[:, 3] += rng.normal(size=300)
    qid = np.repeat([0, 1, 2], 100)
    X[0] = X[0] if weights is None else 5e8  # of a query that does not count
    found, solution = coefficients(X, X[:, 3] - X[:, 3].min(), qid, weights)
    assert found[:3].tolist() == [0, 0, 0]
    assert found[3] == pytest.approx(1.0)
    X[150, 1] = np.nextafter(np.float32(1e7), np.float32(2e7))
    found, solution = coefficients(X, X[:, 3] - X[:, 3].min() + (np.arange(300) == 150), qid, weights)
    assert solution.certificate["rank"] == 2
    assert found[1] == pytest.approx(1.0)  # The step is 1, and so is what it adds.
