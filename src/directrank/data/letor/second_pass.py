"""The second pass over LETOR text: the features of every line."""

from itertools import pairwise

import numpy as np

from directrank.data.letor.faults import (
    BEYOND,
    BIG_ID,
    FEATURE,
    FINE,
    FOREIGN_ROW,
    LARGEST_ID,
    MISSING,
    OVERFLOW,
    REPEATED_ID,
    UNSORTED_ID,
    VALUE,
    ZERO_ID,
)
from directrank.data.letor.numbers import (
    COLON,
    FOUR,
    MINUS,
    MOST_DIGITS,
    NEWLINE,
    NONE,
    NULL,
    ONE,
    POINT,
    QID,
    any_float32,
    begins,
    decimal,
    digits,
    ends_data,
    ends_token,
    long_digits,
    nearest_float32,
    skip_blanks,
    skip_token,
)
from directrank.kernels.compile import kernel

# An id of more digits may exceed the largest id; a mantissa of more digits may overflow.
SHORT_ID = np.uint64(9)
LONGEST_MANTISSA = np.uint64(MOST_DIGITS)


@kernel
def fill_rows(block, labelled, first_feature, places, X, strict, null, powers, unsure):
    """Write the features of every line into its row of X.

    Parameters
    ----------
    block : ndarray of uint8
        Whole lines, whose labels and qids the first pass has checked.
    labelled : bool
        Whether every line has a label.
    first_feature : int
        The id of the first feature, 0 or 1.
    places : ndarray of int64
        The row of X of each row of the block.
    X : ndarray of shape (n_docs, n_features), float32
        Zero where a row has no value.
    strict : bool
        Whether an id beyond n_features is an error; otherwise such features are skipped.
    null : float32
        Value of a literal ``NULL``; infinity if it is refused.
    powers : ndarray
        `numbers.POWERS`.
    unsure : ndarray of shape (at least the number of values, 3), int64
        Out: offset, row of X and column of each value whose last bit needs an exact reader.

    Returns
    -------
    n_rows, n_null, n_unsure, code, offset : int
    """
    n_rows, n_null, n_unsure = 0, 0, NONE
    p, stop = np.uint64(0), np.uint64(len(block))
    while p < stop:
        p = skip_blanks(block, p)
        if not ends_data(block[p]):
            if n_rows >= len(places):
                return n_rows, n_null, n_unsure, FOREIGN_ROW, np.int64(p)
            p = _after_head(block, p, labelled)
            row, first = places[n_rows], n_unsure
            p, code, nulls, n_unsure = _fill_row(
                block, p, ONE - first_feature, X[row], strict, null, powers, unsure, first
            )
            unsure[first:n_unsure, 1] = row
            if code != FINE:
                return n_rows, n_null, n_unsure, code, np.int64(p)
            n_null += nulls
            n_rows += 1
        while block[p] != NEWLINE:
            p += ONE
        p += ONE
    return n_rows, n_null, n_unsure, FINE, 0


@kernel
def _after_head(block, p, labelled):
    if labelled or not begins(block, p, QID):
        p = skip_blanks(block, skip_token(block, p))
    return skip_token(block, p)


@kernel
def _fill_row(block, p, shift, x, strict, null, powers, unsure, n_unsure):
    """Read ``id:value`` to the end of the data; return its position, or the position of a fault.

    Columns count from 1: ids, if the first feature is 1 (`shift` 0), or one more (`shift` 1).
    """
    last, nulls = NONE, NONE
    while True:
        p = skip_blanks(block, p)
        if ends_data(block[p]):
            return p, FINE, nulls, n_unsure
        token = p
        p, number = digits(block, p, NONE)
        number += shift
        if block[p] != COLON or p - token - ONE >= SHORT_ID or number <= last or number > len(x):
            code = _id_fault(block, token, shift, last, len(x), strict)
            if code != FINE:
                return token, code, nulls, n_unsure
        last = number
        start = p + ONE
        first = start + np.uint64(block[start] == MINUS)
        p, mantissa = digits(block, first, NONE)
        power = 0
        if block[p] == POINT:
            whole = p + ONE
            p, mantissa = digits(block, whole, mantissa)
            power = -np.int64(p - whole)
        value, certain = np.float32(0.0), False
        # The common form: no exponent, and digits that fit the mantissa. `_any_value` reads all others.
        if p - first - ONE < LONGEST_MANTISSA and block[first] != POINT and ends_token(block[p]):
            value, certain = nearest_float32(mantissa, power, powers)
            value = -value if first != start else value
        if not certain:
            p, value, certain, code = _any_value(block, start, null, powers)
            if code != FINE:
                return start, code, nulls, n_unsure
            nulls += np.isnan(value)
            if not certain:
                unsure[n_unsure, 0], unsure[n_unsure, 2] = start, number - 1
                n_unsure += 1
        if number <= len(x):
            x[np.uint64(number - 1)] = value


@kernel
def _id_fault(block, p, shift, last, width, strict):
    """Return the code of what is wrong with a feature id, if anything is."""
    end, number, _, _ = long_digits(block, p, NONE)
    number += shift
    if end == p or block[end] != COLON:
        return FEATURE
    if number <= last:
        return ZERO_ID if number == 0 else REPEATED_ID if number == last else UNSORTED_ID
    if number > LARGEST_ID:
        return BIG_ID
    return BEYOND if strict and number > width else FINE


@kernel
def _any_value(block, start, null, powers):
    """Read a value of any form; return its end, the value, whether it is certain, and the fault's code."""
    p, negative, mantissa, power = decimal(block, start)
    value, certain = any_float32(mantissa, power, powers)
    value = -value if negative else value
    if p == start and begins(block, start, NULL):
        p, value = start + FOUR, null
        if np.isinf(null) and ends_token(block[p]):
            return p, value, True, MISSING
    if p == start or not ends_token(block[p]):
        return p, value, True, VALUE
    return p, value, certain, OVERFLOW if certain and np.isinf(value) else FINE


@kernel
def fill_query_minimum(X, indptr):
    """Replace NaN by the least value of the feature within the query, or by 0 if there is none."""
    for q in range(len(indptr) - 1):
        rows = X[indptr[q] : indptr[q + 1]]
        for column in range(X.shape[1]):
            least = np.float32(np.inf)
            for i in range(len(rows)):
                # False for NaN
                if rows[i, column] < least:
                    least = rows[i, column]
            if np.isinf(least):
                least = np.float32(0.0)
            for i in range(len(rows)):
                if np.isnan(rows[i, column]):
                    rows[i, column] = least


def fill_query_minimum_naive(X: np.ndarray, indptr: np.ndarray) -> None:
    """Compute `fill_query_minimum` by definition, for tests."""
    for first, last in pairwise(indptr):
        for values in X[first:last].T:
            known = values[~np.isnan(values)]
            values[np.isnan(values)] = known.min() if len(known) else 0.0
