"""Exponentials and logarithms without branches, and logistic functions of differences of scores.

With e = exp(α(s − c)) the logistic of a difference is a quotient, σ(α(s_j − s_i)) = e_j / (e_i + e_j): n
exponentials instead of n². One c, the midpoint, is enough for a query while α · (max − min) is within the
range of its type. For a larger spread, documents are computed in bands around several c: the quotients of a
band are exact to the last digits, although the powers of documents far from its c are cut to e^±340.
"""

import math

import numpy as np

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
# The bits of a float64: 52 of the mantissa below those of the exponent.
MANTISSA, LOG_2 = 52, math.log(2.0)
BITS_OF_ROOT_HALF = int(np.sqrt(0.5).view(np.int64))
BITS_OF_TWO_TO_52 = int(np.float64(2.0**52).view(np.int64))


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


@kernel
def log_of_one_plus(x):
    """Return log(1 + x) for x ≥ 0 without a branch, so that it vectorises, unlike `math.log1p`; NaN for NaN.

    The error is at most 5e-16 of the result. 1 + x = 2^power · (1 + f) with 1 + f between √½ and √2, whose
    logarithm is 2 artanh s, with s = f / (2 + f).
    """
    bits = np.float64(1.0 + x).view(np.int64)
    power = (bits - BITS_OF_ROOT_HALF) >> MANTISSA
    part = np.int64(bits - (power << MANTISSA)).view(np.float64) - 1.0
    f = x if power == 0 else part
    s = f / (2.0 + f)
    z = s * s
    series = 1 / 13 + z * (1 / 15 + z * (1 / 17 + z * (1 / 19 + z / 21)))
    series = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * series))))
    # An integer in the lowest bits of 2^52 is its value above 2^52.
    exponent = np.int64(power | BITS_OF_TWO_TO_52).view(np.float64) - 2.0**MANTISSA
    # The bits of NaN are those of a number; its product with 0 is NaN.
    return exponent * LOG_2 + 2.0 * (s + s * z * series) + 0.0 * x


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
