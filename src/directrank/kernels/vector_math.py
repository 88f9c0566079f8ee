"""Logistic functions of differences inside kernels, with one exponential a document.

With e = exp(α(s − c)) the logistic of a difference is a quotient, σ(α(s_j − s_i)) = e_j / (e_i + e_j): n
exponentials instead of n². One c, the midpoint, is enough for a query while α · (max − min) is within the
range of its type. For a larger spread, documents are computed in bands around several c: the quotients of a
band are exact to the last digits, although the powers of documents far from its c are cut to e^±340.
"""

from directrank.kernels.compile import inline_kernel, kernel

# The exponent of centred scores is at most half the range. float32 overflows at 88 and float64 at 709, and
# the product of two sums must fit.
FLOAT32_RANGE = 80.0
FLOAT64_RANGE = 600.0
# `exponential` is never called with a larger exponent.
LARGEST_EXPONENT = 700.0
# Documents of a band are within BAND of its centre, and powers are cut at REACH. A cut power differs from the
# powers of the band by a factor of at least e^170, beside which 1 vanishes. Products of two powers, and of
# two inverse sums, must fit in any order.
BAND, REACH = 170.0, 340.0
# The same in float32, with a factor of at least e^22.
FLOAT32_BAND, FLOAT32_REACH = 20.0, 42.0


@kernel
def exponential(z):
    """Return exp(z) for |z| ≤ 700 without a branch, so that it vectorises, unlike `math.exp`.

    It has twelve correct digits up to |z| = 300, and seven at 700.
    """
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


@inline_kernel
def extremes(s):
    """Return the least and the largest number, found by two independent chains of comparisons each."""
    low, low1, high, high1 = s[0], s[0], s[0], s[0]
    for two in range(len(s) // 2):
        x, y = s[2 * two], s[2 * two + 1]
        low, low1 = x if x < low else low, y if y < low1 else low1
        high, high1 = x if x > high else high, y if y > high1 else high1
    low, high = low1 if low1 < low else low, high1 if high1 > high else high
    x = s[len(s) - 1]
    return x if x < low else low, x if x > high else high


@kernel
def fill_powers(s, alpha, centre, e):
    """Fill e with exp(α(s − centre)); no value may overflow."""
    for j in range(len(s)):
        e[j] = exponential(alpha * (s[j] - centre))


@kernel
def fill_powers_around(s, alpha, centre, e, reach):
    """Fill e with exp(α(s − centre)), cut to e^±reach."""
    for j in range(len(s)):
        e[j] = exponential(min(max(alpha * (s[j] - centre), -reach), reach))
