"""The inner quadratic programme against SciPy and, where it is installed, piqp."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from directrank.solvers.planes import dual_value, minimise_on_line, minimise_risk, planes_in_blocks, solve


def problem(seed, sizes=(1, 4, 7), n_features=3):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    return rng.normal(size=(n, n_features)), rng.random(n), starts, rng.uniform(0.2, 3.0, len(sizes))


def solved(vectors, offsets, starts, caps, tolerance=1e-10):
    planes = planes_in_blocks(vectors, offsets, starts, caps, np.zeros(len(offsets)))
    return planes, *solve(planes, tolerance, 5000)


def objective(vectors, offsets, starts, caps, w):
    heights = offsets + vectors @ w
    tops = [max(0.0, heights[a:b].max()) for a, b in itertools.pairwise(starts)]
    return 0.5 * w @ w + caps @ np.array(tops)


@pytest.mark.parametrize("seed", range(8))
def test_against_scipy(seed):
    vectors, offsets, starts, caps = problem(seed)
    planes, value, dual = solved(vectors, offsets, starts, caps)
    alpha, w = planes.alpha, planes.w.copy()
    assert value - dual <= 1e-9 * value
    assert value == pytest.approx(objective(vectors, offsets, starts, caps, w), rel=1e-12)
    assert dual == pytest.approx(dual_value(planes), rel=1e-9)
    sums = np.add.reduceat(alpha, starts[:-1])
    assert (alpha >= 0).all()
    assert (sums <= caps * (1 + 1e-12)).all()
    by_scipy = minimize(
        lambda a: 0.5 * (a @ vectors) @ (a @ vectors) - a @ offsets,
        np.zeros(len(offsets)),
        jac=lambda a: vectors @ (a @ vectors) - offsets,
        bounds=[(0, None)] * len(offsets),
        constraints=[
            {"type": "ineq", "fun": lambda a, lo=lo, hi=hi, c=c: c - a[lo:hi].sum()}
            for lo, hi, c in zip(starts[:-1], starts[1:], caps, strict=True)
        ],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    assert value == pytest.approx(-by_scipy.fun, rel=1e-6)


def test_starts_warm():
    vectors, offsets, starts, caps = problem(3)
    planes, value, _ = solved(vectors, offsets, starts, caps)
    again = solve(planes, 1e-9, 0)
    assert again[0] == pytest.approx(value)
    assert again[0] - again[1] <= 1e-8 * value


@pytest.mark.heavy
def test_minimise_on_line():
    rng = np.random.default_rng(0)
    for _ in range(50):
        slopes, offsets = rng.normal(size=6) * 3, rng.normal(size=6)

        def along(t, slopes=slopes, offsets=offsets):
            top = np.argmax(offsets + slopes * t)
            return float(offsets[top] + slopes[top] * t + 0.5 * t * t), float(slopes[top] + t)

        t, value = minimise_on_line(along)
        grid = np.linspace(0, 12, 4001)
        assert value <= min(along(x)[0] for x in grid) + 1e-6 * abs(value) + 1e-9
        assert along(t)[0] == value
        assert t >= 0


def test_minimise_risk_of_a_smooth_risk():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(20, 4)), rng.random(20)

    def risk(w):
        z = np.exp(-(A @ w))
        return float(b @ z), -(A.T @ (b * z))

    w, value, bound = minimise_risk(risk, np.zeros(4), 1e-6)
    exact = minimize(lambda v: 0.5 * v @ v + risk(v)[0], np.zeros(4), jac=lambda v: v + risk(v)[1])
    assert value == pytest.approx(exact.fun, rel=2e-6)
    assert bound <= exact.fun * (1 + 1e-12)
    np.testing.assert_allclose(w, exact.x, atol=2e-3)
