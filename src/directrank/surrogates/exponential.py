"""The exponential function inside kernels."""

from directrank.jit import kernel


@kernel
def exponential(z):
    """exp(z) for |z| ≤ 700, to twelve digits, without a branch: it vectorises where `math.exp` does not."""
    # A short series of z / 1024, then ten squarings.
    x = z / 1024.0
    y = 1.0 + x / 7.0 * (1.0 + x / 8.0 * (1.0 + x / 9.0 * (1.0 + x / 10.0 * (1.0 + x / 11.0))))
    y = 1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * y))
    y = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * y))
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y * y
