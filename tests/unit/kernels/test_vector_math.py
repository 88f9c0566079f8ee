"""The exponential and the logarithm without branches, against NumPy's."""

import numpy as np

from directrank.kernels.compile import kernel
from directrank.kernels.vector_math import exponential, signed_logarithms


@kernel
def fill(x, exponentials):
    for i in range(len(x)):
        exponentials[i] = exponential(x[i])


def logarithms(x, chosen=True):
    """Signed logarithms of numbers, of all or of some."""
    s, powers, series, out = np.empty((4, len(x)))
    signed_logarithms(x, np.broadcast_to(chosen, x.shape).copy(), s, powers, series, out)
    return out


def test_the_logarithm_is_numpys_to_the_last_digits():
    edges = [0.0, 1e-300, np.sqrt(2) - 1, np.nextafter(np.sqrt(2) - 1, 0), 1.0, 3.0, 3.4e38, 5e-324]
    numbers = np.concatenate(
        [10.0 ** np.random.default_rng(0).uniform(-45, 38.5, 50_000), np.arange(999), edges]
    )
    np.testing.assert_allclose(logarithms(numbers), np.log1p(numbers), rtol=6e-16, atol=5e-324)
    np.testing.assert_array_equal(logarithms(-numbers), -logarithms(numbers))
    assert (np.diff(logarithms(2.0 ** np.arange(1, 128) - 1.0)) > 0).all()


def test_the_exponential_has_the_digits_that_it_promises():
    numbers = np.linspace(-700.0, 700.0, 20_001)
    found = np.empty_like(numbers)
    fill(numbers, found)
    error = np.abs(found / np.exp(numbers) - 1.0)
    assert error[np.abs(numbers) <= 300].max() < 2e-12
    assert error.max() < 1e-7
