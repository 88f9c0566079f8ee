"""Exponentials and logarithms without branches, and logistic functions of differences of scores.

With e = exp(α(s − c)) the logistic of a difference is a quotient, σ(α(s_j − s_i)) = e_j / (e_i + e_j): n
exponentials instead of n². One c, the midpoint, is enough for a query while α · (max − min) is within the
range of its type. For a larger spread, documents are computed in bands around several c: the quotients of a
band are exact to the last digits, although the powers of documents far from its c are cut to e^±340.
"""

import math

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel

#: The largest α · (max − min) for which one centre is enough. The exponent of centred scores is at most half
#: of it. float32 overflows at 88 and float64 at 709, and the product of two sums must fit.
FLOAT32_RANGE, FLOAT64_RANGE = 80.0, 600.0
#: `exponential` is never called with a larger exponent.
LARGEST_EXPONENT = 700.0
#: Documents of a band have α · |s − centre| up to this.
BAND = 170.0
# Powers are cut here. A cut power differs from the powers of the band by a factor of at least e^170, beside
# which 1 vanishes. Products of two powers, and of two inverse sums, must fit in any order.
REACH = 340.0
# The bits of a float64: 52 of the mantissa below those of the exponent.
MANTISSA, LOG_2 = np.uint64(52), math.log(2.0)
ROOT_2, BITS_OF_ROOT_HALF = 2.0 * math.sqrt(0.5), int(np.sqrt(0.5).view(np.int64))
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
def log1p_of_quotient(a, b):
    """Return ln(1 + a / b) for 0 ≤ a ≤ b: 2 artanh(a / (a + 2b)), a series that vectorises."""
    y = a / (a + (b + b))
    z = y * y
    series = 1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0 + z * (1.0 / 21.0 + z * (1.0 / 23.0 + z / 25.0))))
    series = 1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * series)))
    return 2.0 * y * (1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * series)))


@kernel
def signed_logarithms(x, chosen, s, powers, series, out):
    """Write sign(x) · log(1 + |x|) where `chosen`, bool (n,), else x; all other arrays are float64 (n,).

    `s`, `powers` and `series` are scratch. It vectorises, unlike `math.log1p`, and its error is at most
    5e-16 of the result.
    """
    # 1 + |x| is 2^power · (1 + f) with 1 + f between √½ and √2, whose logarithm is 2 artanh s, with
    # s = f / (2 + f). In several loops: one has more constants than there are registers, and too few of its
    # long iterations run at once.
    for k in range(len(x)):
        size = abs(x[k])
        one_more = 1.0 + size
        bits = np.float64(one_more).view(np.int64)
        # No bits here are negative, and few processors have a shift of vectors that keeps the sign.
        power = np.int64(np.uint64(bits - BITS_OF_ROOT_HALF) >> MANTISSA)
        part = np.int64(bits - (power << np.int64(MANTISSA))).view(np.float64) - 1.0
        # NaN is not greater; the bits of its part are those of a number.
        f = part if one_more >= ROOT_2 else size
        s[k] = f / (2.0 + f)
        # An integer in the lowest bits of 2^52 is its value above 2^52.
        powers[k] = (np.int64(power | BITS_OF_TWO_TO_52).view(np.float64) - 2.0**52) * LOG_2
    for k in range(len(x)):
        z = s[k] * s[k]
        series[k] = 1 / 13 + z * (1 / 15 + z * (1 / 17 + z * (1 / 19 + z / 21)))
    for k in range(len(x)):
        z = s[k] * s[k]
        series[k] = 1 / 3 + z * (1 / 5 + z * (1 / 7 + z * (1 / 9 + z * (1 / 11 + z * series[k]))))
    for k in range(len(x)):
        z = s[k] * s[k]
        logarithm = powers[k] + 2.0 * (s[k] + s[k] * z * series[k])
        # Stored whether it is chosen or not, so that it is computed without a branch.
        series[k] = value = math.copysign(logarithm, x[k])
        out[k] = value if chosen[k] else x[k]


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
def fill_powers_around(s, alpha, centre, e):
    """Fill e, float64 (n,), with exp(α(s − centre)), cut to e^±340: the powers of the `BAND` are exact."""
    for j in range(len(s)):
        e[j] = exponential(min(max(alpha * (s[j] - centre), -REACH), REACH))
