"""Logistic functions of differences inside kernels: quotients of exponentials, one exponential a document.

With e = exp(α(s − c)) the logistic of a difference is a quotient, σ(α(s_j − s_i)) = e_j / (e_i + e_j): n
exponentials instead of n². One c, the middle, serves a query while α · (max − min) is within the range of its
type. Beyond that documents are taken by bands: of those around one c, all quotients are right to the last
digits, although the powers of documents far from c stop at e^±340.
"""

from directrank.kernels.compile import kernel

# With scores centred, |exponent| is half the range: float32 overflows at 88, float64 at 709, and products of
# two sums must fit.
FLOAT32_RANGE = 80.0
FLOAT64_RANGE = 600.0
# exp of more than this is not asked for.
LARGEST_EXPONENT = 700.0
# Documents of a band are within BAND of its centre, and powers stop at REACH: what lies between is e^170, in
# whose presence 1 is nothing. Products of two powers, and of two inverse sums, must fit in any order.
BAND, REACH = 170.0, 340.0


@kernel
def exponential(z):
    """exp(z) for |z| ≤ 700 without a branch, so that it vectorises where `math.exp` does not.

    Twelve digits to |z| = 300; seven at 700.
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
def extremes(s):
    """Return the least and the largest of some numbers: two chains of comparisons each, not one."""
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
    """Fill e with exp(α(s − centre)); none of them may overflow."""
    for j in range(len(s)):
        e[j] = exponential(alpha * (s[j] - centre))


@kernel
def fill_powers_around(s, alpha, centre, e):
    """Fill e with exp(α(s − centre)), stopping at e^±REACH."""
    for j in range(len(s)):
        e[j] = exponential(min(max(alpha * (s[j] - centre), -REACH), REACH))
