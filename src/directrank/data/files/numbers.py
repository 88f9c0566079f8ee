"""Read decimals from bytes as float32: kernels, and an exact reader for what these cannot decide.

Every line ends with a newline, which ends every loop over digits or blanks. Positions are unsigned, because
compiled code checks a signed index for counting from the end.
"""

from decimal import Decimal

import numpy as np

from directrank.kernels.compile import kernel

BLANK, TAB, NEWLINE, RETURN = np.uint8(32), np.uint8(9), np.uint8(10), np.uint8(13)
HASH, COLON, PLUS, MINUS, POINT = np.uint8(35), np.uint8(58), np.uint8(43), np.uint8(45), np.uint8(46)
ZERO, NINE, SMALL_E, CAPITAL_E = np.uint8(48), np.uint8(9), np.uint8(101), np.uint8(69)
# numba would compile every callee a second time for a literal 0.
NONE = np.int64(0)
ONE, FOUR, FIVE = np.uint64(1), np.uint64(4), np.uint64(5)
QID, NULL, DOCID = (tuple(map(np.uint8, word)) for word in (b"qid:", b"NULL", b"docid"))

# Eighteen digits fit int64; all further digits are below a tenth of the precision of float64.
MOST_DIGITS = 18
LARGEST_EXTENDED = 10 ** (MOST_DIGITS - 1)
LEAST_POWER, LARGEST_POWER = -300, 40
POWERS = np.array([float(f"1e{e}") for e in range(LEAST_POWER, LARGEST_POWER + 1)])
# Mantissa, power and product are each rounded once: the relative error is at most three units of 2⁻⁵³.
UNSURE = 2.0**-50
EXACT_INTEGER = 2**53
BEYOND_FLOAT32 = 2.0**128


@kernel
def skip_blanks(block, p):
    """Return the first position from p on that is not a blank."""
    while block[p] == BLANK or block[p] == TAB:
        p += ONE
    return p


@kernel
def skip_token(block, p):
    """Return the first position from p on that is a blank or ends the data of the line."""
    while not ends_token(block[p]):
        p += ONE
    return p


@kernel
def begins(block, p, letters):
    """Whether the text at p begins with letters, of which none ends a line."""
    k = np.uint64(0)
    while k < np.uint64(len(letters)) and block[p + k] == letters[k]:
        k += ONE
    return k == np.uint64(len(letters))


@kernel
def ends_data(byte):
    """Whether a byte ends the data of a line."""
    return byte in (NEWLINE, HASH, RETURN)


@kernel
def ends_token(byte):
    """Whether a byte ends a token."""
    return byte in (BLANK, TAB) or ends_data(byte)


@kernel
def digits(block, p, number):
    """Append decimal digits to a number; more than eighteen digits may overflow."""
    digit = np.uint8(np.int16(block[p]) - ZERO)
    while digit <= NINE:
        number = number * 10 + np.int64(digit)
        p += ONE
        digit = np.uint8(np.int16(block[p]) - ZERO)
    return p, number


@kernel
def nearest_float32(mantissa, power, powers):
    """Round ``mantissa * 10**power`` to float32; return whether the last bit is certain, too."""
    size = np.float64(mantissa) * powers[np.uint64(power - LEAST_POWER)]
    low, high = np.float32(size * (1.0 - UNSURE)), np.float32(size * (1.0 + UNSURE))
    # A small integer is exact in float64.
    return np.float32(size), low == high or (power == 0 and mantissa < EXACT_INTEGER)


@kernel
def any_float32(mantissa, power, powers):
    """Round like `nearest_float32`, for any power of ten; infinity if the number is too large."""
    if mantissa == 0 or power < LEAST_POWER:
        return np.float32(0.0), True
    if power > LARGEST_POWER:
        return np.float32(np.inf), True
    return nearest_float32(mantissa, power, powers)


@kernel
def decimal(block, p):
    """Read ``[+-] digits [. digits] [e [+-] digits]`` of any length; return its end, or p if there is none.

    The end is followed by whether the number is negative, its mantissa and its power.
    """
    start = p
    negative = block[p] == MINUS
    if negative or block[p] == PLUS:
        p += ONE
    first = p
    p, mantissa, cut, _ = long_digits(block, p, NONE)
    n_digits, power = p - first, cut
    if block[p] == POINT:
        first = p + ONE
        p, mantissa, _, appended = long_digits(block, first, mantissa)
        n_digits += p - first
        power -= appended
    if n_digits == 0:
        return start, negative, mantissa, power
    if block[p] == SMALL_E or block[p] == CAPITAL_E:
        sign = p + ONE
        first = sign + np.uint64(block[sign] == MINUS or block[sign] == PLUS)
        p, exponent, _, _ = long_digits(block, first, NONE)
        if p == first:
            return start, negative, mantissa, power
        power += -exponent if block[sign] == MINUS else exponent
    return p, negative, mantissa, power


@kernel
def long_digits(block, p, mantissa):
    """Append digits up to eighteen; return the numbers of digits cut and appended, too."""
    cut, appended = 0, 0
    digit = np.uint8(np.int16(block[p]) - ZERO)
    while digit <= NINE:
        if mantissa < LARGEST_EXTENDED:
            mantissa = mantissa * 10 + np.int64(digit)
            appended += 1
        else:
            cut += 1
        p += ONE
        digit = np.uint8(np.int16(block[p]) - ZERO)
    return p, mantissa, cut, appended


@kernel
def copy_spans(block, spans, letters):
    """Copy ASCII spans into rows of code points, NumPy's form of text."""
    for i in range(len(spans)):
        name = block[spans[i, 0] : spans[i, 1]]
        for k in range(len(name)):
            letters[i, k] = name[k]


def exact_float32(text: str) -> np.float32:
    """Round a finite decimal to float32, to nearest and ties to even.

    Rounding to float64 first would round twice: a decimal just above the midpoint of two float32 can become
    the midpoint. Only in this case are all its digits compared.
    """
    double = float(text)
    with np.errstate(over="ignore", under="ignore"):
        value = np.float32(double)
        toward = np.float32(-np.inf if double < float(value) else np.inf)
        neighbour = np.nextafter(value, toward)
    middle = (_real(value) + _real(neighbour)) / 2
    if double != middle:
        return value
    exact, at = Decimal(text), Decimal(middle)
    if exact == at:
        return value
    return max(value, neighbour) if exact > at else min(value, neighbour)


def _real(value: np.float32) -> float:
    return float(np.clip(np.float64(value), -BEYOND_FLOAT32, BEYOND_FLOAT32))
