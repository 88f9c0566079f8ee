"""The linear scorer against its naive twin, at lengths around its unrolled loops and partial sums."""

import numpy as np
import pytest

from directrank.scorers import Linear
from naive import transposed_product_naive


@pytest.mark.parametrize("n_docs", [0, 1, 3, 4, 5, 7, 127, 128, 129, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_backward_equals_its_definition(n_docs, dtype):
    rng = np.random.default_rng(n_docs)
    features, gradient = (
        rng.normal(size=(n_docs, 6)).astype(np.float32),
        rng.normal(size=n_docs).astype(dtype),
    )
    naive = transposed_product_naive(features, gradient)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    size = np.sqrt(max(n_docs, 1))
    np.testing.assert_allclose(Linear().backward(features, gradient), naive, rtol=0, atol=tolerance * size)


def test_a_long_float32_sum_keeps_its_digits():
    # 2¹⁸ equal terms: a running float32 sum would lose them one by one, partial sums do not.
    features = np.full((2**18, 1), 0.1, np.float32)
    gradient = np.ones(2**18, np.float32)
    exact = 2**18 * float(np.float32(0.1))
    assert Linear().backward(features, gradient)[0] == pytest.approx(exact, rel=3e-6)


def test_scores_by_hand():
    scores = Linear(np.array([0.5, -2.0])).scores(np.array([[2.0, 0.25], [0.0, 1.0]], np.float32))
    assert scores.tolist() == [2 * 0.5 - 0.25 * 2, -2.0]
