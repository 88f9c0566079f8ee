"""The bytes of LETOR text to numbers: kernels over blocks of whole lines.

A line is ``label qid:query id:value id:value … # comment``. Every line of a block ends with a newline, so a
loop over digits stops by itself. A kernel that meets a malformed line returns what is wrong and where; the
words are found by `directrank.data.letor_messages`.
"""

import numpy as np

from directrank.jit import kernel

# What a kernel can find. Zero is success.
FINE, LABEL, NEGATIVE, QID, EMPTY_QID, FEATURE, ZERO_ID, BIG_ID = range(8)
REPEATED_ID, UNSORTED_ID, BEYOND, VALUE, MISSING, OVERFLOW, FOREIGN_ROW = range(8, 15)

LARGEST_ID = 2**31 - 1
BLANK, TAB, HASH, COLON, PLUS, MINUS, POINT, ZERO = 32, 9, 35, 58, 43, 45, 46, 48
# Eighteen digits fit int64, and what they leave out is below a tenth of the precision of float64.
MANTISSA_ROOM = 10**17
LEAST_POWER, LARGEST_POWER = -300, 40
POWERS = np.array([float(f"1e{e}") for e in range(LEAST_POWER, LARGEST_POWER + 1)])
# Mantissa, power and product are each rounded once: the true value lies within three units of 2⁻⁵³.
UNSURE = 2.0**-50


@kernel
def _skip_blanks(block, p):
    while block[p] == BLANK or block[p] == TAB:
        p += 1
    return p


@kernel
def _skip_token(block, p, end):
    while p < end and block[p] != BLANK and block[p] != TAB:
        p += 1
    return p


@kernel
def _trim(block, p, end):
    while end > p and (block[end - 1] == BLANK or block[end - 1] == TAB):
        end -= 1
    return end


@kernel
def _is_qid(block, p, end):
    return (
        end - p >= 4
        and block[p] == 113
        and block[p + 1] == 105
        and block[p + 2] == 100
        and block[p + 3] == COLON
    )


@kernel
def _is_null(block, p, end):
    return (
        end - p >= 4 and block[p] == 78 and block[p + 1] == 85 and block[p + 2] == 76 and block[p + 3] == 76
    )


@kernel
def _decimal(block, p):
    """Read ``[+-] digits [. digits] [e [+-] digits]``: where it ends (p if none), sign, mantissa, power."""
    start = p
    negative = block[p] == MINUS
    if negative or block[p] == PLUS:
        p += 1
    mantissa, power, first = 0, 0, p
    digit = np.int64(block[p]) - ZERO
    while 0 <= digit <= 9:
        if mantissa < MANTISSA_ROOM:
            mantissa = mantissa * 10 + digit
        else:
            power += 1
        p += 1
        digit = np.int64(block[p]) - ZERO
    n_digits = p - first
    if block[p] == POINT:
        p += 1
        first = p
        digit = np.int64(block[p]) - ZERO
        while 0 <= digit <= 9:
            if mantissa < MANTISSA_ROOM:
                mantissa = mantissa * 10 + digit
                power -= 1
            p += 1
            digit = np.int64(block[p]) - ZERO
        n_digits += p - first
    if n_digits == 0:
        return start, negative, mantissa, power
    if block[p] == 101 or block[p] == 69:
        p, exponent = _exponent(block, p + 1)
        if p < 0:
            return start, negative, mantissa, power
        power += exponent
    return p, negative, mantissa, power


@kernel
def _exponent(block, p):
    falling = block[p] == MINUS
    if falling or block[p] == PLUS:
        p += 1
    first, exponent = p, 0
    digit = np.int64(block[p]) - ZERO
    while 0 <= digit <= 9:
        exponent = min(exponent * 10 + digit, 1_000_000_000)
        p += 1
        digit = np.int64(block[p]) - ZERO
    if p == first:
        return -1, 0
    return p, -exponent if falling else exponent


@kernel
def _nearest_float32(negative, mantissa, power, powers):
    """Round to float32, and say whether the last bit is certain."""
    if mantissa == 0 or power < LEAST_POWER:
        return np.float32(-0.0 if negative else 0.0), True
    if power > LARGEST_POWER:
        return np.float32(np.inf), True
    size = np.float64(mantissa) * powers[power - LEAST_POWER]
    low, high = np.float32(size * (1.0 - UNSURE)), np.float32(size * (1.0 + UNSURE))
    # An integer is exact whatever lies beside it.
    certain = low == high or (power == 0 and mantissa < 2**53)
    value = np.float32(size)
    return -value if negative else value, certain


@kernel
def scan_heads(block, starts, ends, labelled, lines, labels, qids, fresh):
    """Read label and qid of every line, and the largest feature id by looking at its last token.

    Parameters
    ----------
    block : ndarray of uint8
    starts, ends : ndarray of shape (n_lines,), int64
        Where a line starts, and where it or its data before a comment end.
    labelled : bool
        Whether labels must be grades; a line may begin with its qid otherwise.
    lines, labels : ndarray of shape (n_lines,), int64 and float64
        Out, for each row: its line, and its label, NaN where the decimal is left to an exact reader.
    qids : ndarray of shape (n_lines, 2), int64
        Out, for each row: where the token after ``qid:`` starts and ends.
    fresh : ndarray of shape (n_lines,), bool
        Out: whether the token differs from that of the row before.

    Returns
    -------
    n_rows, largest_id, code, offset : int
    """
    n_rows, largest = 0, 0
    for i in range(len(starts)):
        p = _skip_blanks(block, starts[i])
        end = _trim(block, p, ends[i])
        if p >= end:
            continue
        token_end = _skip_token(block, p, end)
        labels[n_rows] = 0.0
        if labelled or not _is_qid(block, p, end):
            code = _label(block, p, token_end, labelled, labels, n_rows)
            if code != FINE:
                return n_rows, largest, code, p
            p = min(_skip_blanks(block, token_end), end)
            token_end = _skip_token(block, p, end)
        if not _is_qid(block, p, token_end):
            return n_rows, largest, QID, p
        if token_end == p + 4:
            return n_rows, largest, EMPTY_QID, p
        lines[n_rows] = i
        qids[n_rows, 0], qids[n_rows, 1] = p + 4, token_end
        fresh[n_rows] = n_rows == 0 or not _same(block, qids[n_rows - 1], qids[n_rows])
        largest = max(largest, _last_id(block, token_end, end))
        n_rows += 1
    return n_rows, largest, FINE, 0


@kernel
def _label(block, p, token_end, labelled, labels, row):
    stop, negative, mantissa, power = _decimal(block, p)
    if stop != token_end:
        return LABEL
    if negative and mantissa > 0 and labelled:
        return NEGATIVE
    while power < 0 and mantissa > 0 and mantissa % 10 == 0:
        mantissa //= 10
        power += 1
    labels[row] = np.float64(mantissa) if mantissa == 0 or (power == 0 and mantissa < 2**53) else np.nan
    return FINE


@kernel
def _same(block, one, other):
    if one[1] - one[0] != other[1] - other[0]:
        return False
    for k in range(one[1] - one[0]):
        if block[one[0] + k] != block[other[0] + k]:
            return False
    return True


@kernel
def _last_id(block, p, end):
    start = end
    while start > p and block[start - 1] != BLANK and block[start - 1] != TAB:
        start -= 1
    if start <= p:
        return 0
    stop, number = _feature_id(block, start)
    return number if block[stop] == COLON and number <= LARGEST_ID else 0


@kernel
def _feature_id(block, p):
    number = 0
    digit = np.int64(block[p]) - ZERO
    while 0 <= digit <= 9:
        number = min(number * 10 + digit, LARGEST_ID + 1)
        p += 1
        digit = np.int64(block[p]) - ZERO
    return p, number


@kernel
def fill_rows(block, starts, ends, labelled, places, X, strict, null, powers, unsure):
    """Write the features of every line into its row of X.

    Parameters
    ----------
    block, starts, ends, labelled
        As for `scan_heads`, which has found no fault in them.
    places : ndarray of int64
        The row of X of each row of the block.
    X : ndarray of shape (n_docs, n_features), float32
        Zero where a row has no value.
    strict : bool
        Whether an id beyond n_features is a fault of its own; an unsorted line has another otherwise.
    null : float32
        What a literal ``NULL`` stands for; infinity if it is refused.
    powers : ndarray
        `POWERS`.
    unsure : ndarray of bool
        Out: lines with a value whose last bit is left to an exact reader.

    Returns
    -------
    n_rows, n_null, code, offset : int
    """
    n_rows, n_null = 0, 0
    for i in range(len(starts)):
        p = _skip_blanks(block, starts[i])
        end = _trim(block, p, ends[i])
        if p >= end:
            continue
        if n_rows >= len(places):
            return n_rows, n_null, FOREIGN_ROW, p
        if labelled or not _is_qid(block, p, end):
            p = _skip_blanks(block, _skip_token(block, p, end))
        p = _skip_token(block, p, end)
        nulls, code, offset, certain = _fill_row(block, p, end, X[places[n_rows]], strict, null, powers)
        if code != FINE:
            return n_rows, n_null, code, offset
        n_null += nulls
        unsure[i] = not certain
        n_rows += 1
    return n_rows, n_null, FINE, 0


@kernel
def _fill_row(block, p, end, x, strict, null, powers):
    last, nulls, all_certain = 0, 0, True
    while p < end:
        p = _skip_blanks(block, p)
        token = p
        p, number = _feature_id(block, p)
        if p == token or block[p] != COLON:
            return nulls, FEATURE, token, True
        if number <= last:
            return (
                nulls,
                ZERO_ID if number == 0 else REPEATED_ID if number == last else UNSORTED_ID,
                token,
                True,
            )
        if number > LARGEST_ID:
            return nulls, BIG_ID, token, True
        if strict and number > len(x):
            return nulls, BEYOND, token, True
        last = number
        p += 1
        value_start = p
        p, negative, mantissa, power = _decimal(block, p)
        if p == value_start and _is_null(block, p, end):
            p += 4
            nulls += 1
            value, certain = null, True
            if np.isinf(null):
                return nulls, MISSING, value_start, True
        else:
            value, certain = _nearest_float32(negative, mantissa, power, powers)
        if p == value_start or (p < end and block[p] != BLANK and block[p] != TAB):
            return nulls, VALUE, value_start, True
        if certain and np.isinf(value):
            return nulls, OVERFLOW, value_start, True
        all_certain = all_certain and certain
        if number <= len(x):
            x[number - 1] = value
    return nulls, FINE, 0, all_certain


@kernel
def fill_query_minimum(X, indptr):
    """Replace NaN by the least value of the feature within the query, or 0 if the query has none."""
    for q in range(len(indptr) - 1):
        rows = X[indptr[q] : indptr[q + 1]]
        for column in range(X.shape[1]):
            least = np.float32(np.inf)
            for i in range(len(rows)):
                if rows[i, column] < least:
                    least = rows[i, column]
            if np.isinf(least):
                least = np.float32(0.0)
            for i in range(len(rows)):
                if np.isnan(rows[i, column]):
                    rows[i, column] = least


@kernel
def docid_spans(block, comments, stops, spans):
    """Find the name of each row's document in its comment; ``docid = D …`` means D, else all of it."""
    widest, ascii_only = 0, True
    for i in range(len(comments)):
        p, end = comments[i], stops[i]
        if p >= end:
            spans[i, 0], spans[i, 1] = end, end
            continue
        p = _skip_blanks(block, p + 1)
        end = _trim(block, p, max(end, p))
        named = _after_docid(block, p, end)
        if named >= 0:
            p, end = named, _skip_token(block, named, end)
        spans[i, 0], spans[i, 1] = p, end
        widest = max(widest, end - p)
        for k in range(p, end):
            ascii_only = ascii_only and block[k] < 128
    return widest, ascii_only


@kernel
def _after_docid(block, p, end):
    """Where D starts in ``docid = D``, or -1."""
    word = (100, 111, 99, 105, 100)
    if end - p < 6:
        return -1
    for k in range(5):
        if block[p + k] != word[k]:
            return -1
    p = _skip_blanks(block, p + 5)
    if p >= end or block[p] != 61:
        return -1
    return min(_skip_blanks(block, p + 1), end)


@kernel
def copy_spans(block, spans, letters):
    """Copy ASCII spans into rows of code points, which is how NumPy keeps text."""
    for i in range(len(spans)):
        start = spans[i, 0]
        for k in range(spans[i, 1] - start):
            letters[i, k] = block[start + k]
