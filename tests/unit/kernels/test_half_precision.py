"""Half precision: rounded as IEEE 754 rounds, and multiplied as the rounded numbers are."""

import numpy as np
import pytest

from directrank.kernels.half_precision import as_floats, empty_words, pack
from directrank.kernels.products import row_products, transposed_product


def packed(features):
    words = empty_words(features)
    pack(features.view(np.uint32), words)
    return words


def neighbours(x):
    """The numbers of eight binary digits on both sides of x, towards and away from zero."""
    low = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return low.astype(float), (low.view(np.uint32) + np.uint32(0x10000)).view(np.float32).astype(float)


def test_rounding_to_the_nearest_number():
    rng = np.random.default_rng(0)
    sizes = np.exp2(rng.uniform(-140, 127, (4000, 1)))
    x = np.vstack((rng.choice([-1, 1], sizes.shape) * sizes, [[0.0], [-0.0], [1e-45]])).astype(np.float32)
    rounded = as_floats(packed(x), 1)
    below, above = neighbours(x)
    nearest = np.where(np.abs(x - below) <= np.abs(above - x), below, above)
    np.testing.assert_array_equal(rounded, nearest.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(rounded), np.signbit(x))


def test_ties_are_rounded_to_even_and_the_largest_numbers_stay_finite():
    x = np.array([[1 + 2**-8], [1 + 3 * 2**-8], [np.finfo(np.float32).max]], np.float32)
    one, three, largest = as_floats(packed(x), 1).ravel()
    assert (one, three) == (1, 1 + 2**-6)
    assert np.isfinite(largest)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (5, 7), (130, 45), (64, 136)])
def test_products_are_those_of_the_rounded_numbers(shape, kind):
    rng = np.random.default_rng(1)
    features = rng.normal(size=shape).astype(np.float32)
    words, rounded = packed(features), as_floats(packed(features), shape[1])
    assert rounded.shape == shape
    assert np.abs(rounded - features).max() > 0
    w, g = rng.normal(size=shape[1]).astype(kind), rng.normal(size=shape[0]).astype(kind)
    products, sums = np.empty(shape[0], kind), np.zeros(shape[1])
    row_products(words, w, products)
    transposed_product(words, g, np.zeros(shape[1], kind), sums)
    close = {"rtol": 0, "atol": 1e3 * np.finfo(kind).eps}
    np.testing.assert_allclose(products, rounded.astype(float) @ w, **close)
    np.testing.assert_allclose(sums, rounded.T.astype(float) @ g, **close)


def test_equal_rows_have_equal_products():
    rng = np.random.default_rng(2)
    rows = packed(np.repeat(rng.normal(size=(1, 45)), 11, axis=0).astype(np.float32))
    for n in range(1, 12):
        products = np.empty(n, np.float32)
        row_products(rows[:n], rng.normal(size=45).astype(np.float32), products)
        assert len(set(products)) == 1


def test_single_precision_stays_as_it_is():
    features = np.ones((2, 3), np.float32)
    assert as_floats(features, 3) is features
