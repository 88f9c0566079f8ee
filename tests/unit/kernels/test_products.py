"""Products of tiles: the sums of one and the scores of the next, whatever their sizes."""

import re

import numpy as np
import pytest
from numba import njit

from directrank.kernels.compile import OPTIONS
from directrank.kernels.prefetching import DISTANCE, fetch_bytes
from directrank.kernels.products import products_of_tiles, row_products, transposed_product

N_DOCS, N_FEATURES = 300, 45
FEATURES = np.random.default_rng(0).normal(size=(N_DOCS, N_FEATURES)).astype(np.float32)


def both(start, n, m, kind=np.float32):
    """The sum over n rows from `start`, and the scores of the m rows after them."""
    rng = np.random.default_rng(1)
    w, gradient = rng.normal(size=N_FEATURES).astype(kind), rng.normal(size=N_DOCS).astype(kind)[:n]
    sums, scores = np.zeros(N_FEATURES), np.full(m, np.nan, kind)
    products_of_tiles(FEATURES, start, gradient, np.zeros(N_FEATURES, kind), sums, w, scores)
    return sums, scores, gradient, w


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("start", "n", "m"),
    [(0, 0, 7), (0, 1, 1), (5, 3, 2), (0, 4, 0), (2, 5, 200), (10, 120, 120), (0, 299, 1), (7, 150, 143)],
)
def test_values(kind, start, n, m):
    sums, scores, gradient, w = both(start, n, m, kind)
    numbers = FEATURES.astype(float)
    close = {"rtol": 0, "atol": 1e3 * np.finfo(kind).eps}
    np.testing.assert_allclose(sums, gradient.astype(float) @ numbers[start : start + n], **close)
    np.testing.assert_allclose(scores, numbers[start + n : start + n + m] @ w.astype(float), **close)


def test_scores_do_not_depend_on_the_tile():
    # Passes over several shards and over one must be bit-identical.
    at_once = both(0, 0, 200)[1]
    for n, m in ((20, 180), (60, 53), (100, 4), (199, 1)):
        assert both(0, n, m)[1].tobytes() == at_once[n : n + m].tobytes()


def test_the_products_alone_are_close():
    sums, scores, gradient, w = both(0, 128, 100)
    alone, added = np.empty(100, np.float32), np.zeros(N_FEATURES)
    row_products(FEATURES[128:228], w, alone)
    transposed_product(FEATURES[:128], gradient, np.zeros(N_FEATURES, np.float32), added)
    np.testing.assert_allclose(scores, alone, atol=1e-5)
    np.testing.assert_allclose(sums, added, atol=1e-5)


def test_rows_ahead_are_asked_for():
    compiled = njit(fetch_bytes.py_func, **OPTIONS)
    features = np.ones((4, 8), np.float32)
    # Beyond the last row too, where nothing is read.
    compiled(features, 0, features.nbytes + DISTANCE)
    (assembly,) = compiled.inspect_asm().values()
    assert re.search("prefetch|prfm", assembly)
