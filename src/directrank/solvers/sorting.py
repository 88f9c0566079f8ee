"""Sorting inside kernels, where NumPy's sort would take seconds to compile."""

import numpy as np

from directrank.kernels.compile import inline_kernel, kernel

# Digits of whole numbers of 32 bits: four, of eight bits each.
DIGITS = (4, 256)
#: The key of a missing value, which comes after all others.
MISSING = np.uint32(0xFFFFFFFF)
SIGN, INFINITE = np.uint32(0x80000000), np.uint32(0x7F800000)


@kernel
def sort_by_digits(numbers, spare, counts):
    """Sort whole numbers, uint32; return the one of `numbers` and `spare` that then holds them, ascending.

    `counts` is a scratch array of shape `DIGITS`, uint32. Digits that all numbers share take no time.
    """
    for digit in range(DIGITS[0]):
        for value in range(DIGITS[1]):
            counts[digit, value] = 0
    for i in range(len(numbers)):
        for digit in range(DIGITS[0]):
            counts[digit, _digit(numbers[i], digit)] += np.uint32(1)
    source, target = numbers, spare
    for digit in range(DIGITS[0]):
        places = counts[digit]
        if len(source) == 0 or places[_digit(source[0], digit)] == len(source):
            continue
        total = np.uint32(0)
        for value in range(DIGITS[1]):
            places[value], total = total, total + places[value]
        for i in range(len(source)):
            value = _digit(source[i], digit)
            target[places[value]] = source[i]
            places[value] += np.uint32(1)
        source, target = target, source
    return source


@inline_kernel
def _digit(number, digit):
    return (number >> np.uint32(8 * digit)) & np.uint32(255)


@kernel
def fill_keys(bits, keys):
    """Write a key for each float32 of some columns, given by their bits; `keys` has a row for each column."""
    for i in range(bits.shape[0]):
        for c in range(len(keys)):
            keys[c, i] = key_of(bits[i, c])


@inline_kernel
def key_of(bits):
    """Return a whole number that is larger for a larger float32; one for both zeros, and for any NaN."""
    if bits & ~SIGN > INFINITE:
        return MISSING
    return bits | SIGN if bits <= SIGN else ~bits


@inline_kernel
def value_of_key(key):
    """Return the float32 of a key."""
    return np.uint32(key ^ SIGN if key >= SIGN else ~key).view(np.float32)


def values_of_keys(keys: np.ndarray) -> np.ndarray:
    """Return the float32 of some keys, outside kernels."""
    return np.where(keys >= SIGN, keys ^ SIGN, ~keys).view(np.float32)
