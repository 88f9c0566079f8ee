"""The shortest decimal that reads back as the same float32: a kernel for gigabytes of synthetic text."""

import numpy as np

from directrank.files.letor_lines import LEAST_POWER, UNSURE
from directrank.kernels.compile import kernel

# Sign, nine digits, point, and e-45; or up to four zeros after the point.
LONGEST_NUMBER = 16
MOST_DIGITS = 9
LEAST_PLAIN, LARGEST_PLAIN = -5, 9


@kernel
def write_features(X, rows, powers, text, ends):
    """Write `` 1:value 2:value …`` for some rows of X.

    Parameters
    ----------
    X : ndarray of shape (n_docs, n_features), float32
        Finite.
    rows : ndarray of int64
    powers : ndarray
        ``10**e`` from `LEAST_POWER` on.
    text : ndarray of uint8
        Out, with room for every value.
    ends : ndarray of int64
        Out: where the text of each row ends.
    """
    p = 0
    for k in range(len(rows)):
        x = X[rows[k]]
        for column in range(len(x)):
            text[p] = 32
            p = _write_integer(text, p + 1, column + 1)
            text[p] = 58
            p = _write_number(text, p + 1, x[column], powers)
        ends[k] = p


@kernel
def _write_integer(text, p, number):
    length, rest = 1, number
    while rest >= 10:
        rest //= 10
        length += 1
    for k in range(length):
        text[p + length - 1 - k] = 48 + number % 10
        number //= 10
    return p + length


@kernel
def _write_number(text, p, value, powers):
    if value < 0 or (value == 0 and 1.0 / np.float64(value) < 0):
        text[p] = 45
        p += 1
    size = np.abs(value)
    if size == 0:
        text[p] = 48
        return p + 1
    digits, power = _shortest(size, powers)
    return _write_decimal(text, p, digits, power)


@kernel
def _shortest(size, powers):
    """Digits and power of ten with the fewest digits that surely read back as `size`."""
    exact = np.float64(size)
    exponent = int(np.floor(np.log10(exact)))
    digits, power = 0, 0
    for n in range(1, MOST_DIGITS + 1):
        power = exponent - n + 1
        digits = (
            int(np.rint(exact * powers[-power - LEAST_POWER]))
            if power > -40
            else _scaled(exact, power, powers)
        )
        near = np.float64(digits) * powers[power - LEAST_POWER]
        if np.float32(near * (1.0 - UNSURE)) == size and np.float32(near * (1.0 + UNSURE)) == size:
            break
    while digits % 10 == 0:
        digits //= 10
        power += 1
    return digits, power


@kernel
def _scaled(exact, power, powers):
    # The table ends at 10⁴⁰; a very small number is brought up in two steps.
    return int(np.rint(exact * powers[40 - LEAST_POWER] * powers[-power - 40 - LEAST_POWER]))


@kernel
def _write_decimal(text, p, digits, power):
    length, rest = 1, digits
    while rest >= 10:
        rest //= 10
        length += 1
    if power >= 0 and length + power <= LARGEST_PLAIN:
        p = _write_integer(text, p, digits)
        for _ in range(power):
            text[p] = 48
            p += 1
        return p
    if power < 0 and length + power >= LEAST_PLAIN + 1:
        return _write_fraction(text, p, digits, length, -power)
    p = _write_integer(text, p, digits)
    text[p] = 101
    if power < 0:
        text[p + 1] = 45
        p += 1
    return _write_integer(text, p + 1, abs(power))


@kernel
def _write_fraction(text, p, digits, length, places):
    scale = 1
    for _ in range(min(places, length)):
        scale *= 10
    p = _write_integer(text, p, digits // scale) if places < length else _write_integer(text, p, 0)
    text[p] = 46
    p += 1
    for _ in range(places - length):
        text[p] = 48
        p += 1
    rest = digits % scale if places < length else digits
    count = min(places, length)
    for k in range(count):
        text[p + count - 1 - k] = 48 + rest % 10
        rest //= 10
    return p + count
