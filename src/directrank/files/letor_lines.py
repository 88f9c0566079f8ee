"""Kernels that read the lines of LETOR text: heads and docids in the first pass, features in the second.

Decimals become float32; an exact reader decides what the kernels cannot. Every line ends with a newline,
which ends every loop over digits or blanks. Positions are unsigned, because compiled code checks a signed
index for counting from the end.
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
#: NaN, in any case, is missing as NULL is.
NAN, LOWER = tuple(map(np.uint8, b"nan")), np.uint8(32)
#: The largest float64, Istella's mark of missing values, in 17 digits and in all 309: mantissa and power.
SHORT_LARGEST, LONG_LARGEST = (17976931348623157, 292), (179769313486231570, 291)

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


# Codes that kernels return.
FINE, LABEL, NEGATIVE, NO_QID, EMPTY_QID, FEATURE, ZERO_ID, BIG_ID = range(8)
REPEATED_ID, UNSORTED_ID, BEYOND, VALUE, MISSING, OVERFLOW, FOREIGN_ROW = range(8, 15)
LARGEST_ID = 2**31 - 1
EQUALS = np.uint8(61)
# An id of more digits may exceed the largest id; a mantissa of more digits may overflow.
SHORT_ID = np.uint64(9)
LONGEST_MANTISSA = np.uint64(MOST_DIGITS)


@kernel
def scan_heads(block, starts, ends, labelled, first_feature, lines, labels, qids, fresh):
    """Read label and qid of every line, and count features by looking at its last token.

    `starts` and `ends` say where a line starts, and where its data end. Unless `labelled`, a line may begin
    with its qid. Of each row, `lines` receives the line, `labels` the label (NaN where its decimal needs an
    exact reader), `qids` start and end of the token after ``qid:``, `fresh` whether it differs from that of
    the row before. Returned are the numbers of rows and features, and code and offset of a fault.
    """
    n_rows, largest, before = NONE, NONE, block[:0]
    for i in range(len(starts)):
        p = skip_blanks(block, np.uint64(starts[i]))
        end = np.uint64(ends[i])
        if p >= end:
            continue
        token = p
        labels[n_rows] = 0.0
        if labelled or not begins(block, p, QID):
            code = _label(block, p, labelled, labels, n_rows)
            if code != FINE:
                return n_rows, largest, code, np.int64(p)
            token = skip_blanks(block, skip_token(block, p))
        token_end = skip_token(block, token)
        if not begins(block, token, QID):
            return n_rows, largest, NO_QID, np.int64(token)
        if token_end == token + FOUR:
            return n_rows, largest, EMPTY_QID, np.int64(token)
        lines[n_rows] = i
        qids[n_rows, 0], qids[n_rows, 1] = token + FOUR, token_end
        name = block[qids[n_rows, 0] : qids[n_rows, 1]]
        fresh[n_rows] = len(name) != len(before) or not begins(block, token + FOUR, before)
        before = name
        largest = max(largest, _last_column(block, token_end, end, first_feature))
        n_rows += 1
    return n_rows, largest, FINE, 0


@kernel
def _label(block, p, labelled, labels, row):
    end, negative, mantissa, power = decimal(block, p)
    if end == p or end != skip_token(block, p):
        return LABEL
    if negative and mantissa > 0 and labelled:
        return NEGATIVE
    while power < 0 and mantissa > 0 and mantissa % 10 == 0:
        mantissa //= 10
        power += 1
    exact = mantissa == 0 or (power == 0 and mantissa < EXACT_INTEGER)
    labels[row] = np.float64(mantissa) if exact else np.nan
    return FINE


@kernel
def _last_column(block, p, end, first_feature):
    """Return the column, from 1, of the last token of the data, or 0 if there is none or it is malformed."""
    while end > p and (block[end - ONE] == BLANK or block[end - ONE] == TAB):
        end -= ONE
    start = end
    while start > p and block[start - ONE] != BLANK and block[start - ONE] != TAB:
        start -= ONE
    if start <= p:
        return 0
    stop, number, _, _ = long_digits(block, start, NONE)
    return number + ONE - first_feature if block[stop] == COLON and number <= LARGEST_ID else 0


@kernel
def docid_spans(block, comments, stops, spans):
    """Find the docid of each row in its comment: D of ``docid = D …``, or else the whole comment.

    `comments` and `stops` are the start of the comment and the end of its line: equal if there is no comment.
    `spans` receives start and end of each docid. Returned are the bytes of the longest docid, and whether all
    are ASCII.
    """
    widest, ascii_only = 0, True
    for i in range(len(comments)):
        start, end = comments[i], stops[i]
        if start < end:
            start, end = _docid(block, np.uint64(start) + ONE, np.uint64(end))
        spans[i, 0], spans[i, 1] = start, end
        widest = max(widest, end - start)
        name = block[start:end]
        for k in range(len(name)):
            ascii_only &= name[k] < 128
    return widest, ascii_only


@kernel
def _docid(block, p, end):
    """Return start and end of the docid in a comment."""
    p = skip_blanks(block, p)
    while end > p and (block[end - ONE] == BLANK or block[end - ONE] == TAB):
        end -= ONE
    equals = skip_blanks(block, p + FIVE) if begins(block, p, DOCID) else p
    if block[equals] == EQUALS and equals != p:
        p = min(skip_blanks(block, equals + ONE), end)
        stop = p
        while stop < end and block[stop] != BLANK and block[stop] != TAB:
            stop += ONE
        end = stop
    return np.int64(p), np.int64(max(p, end))


@kernel
def fill_rows(block, labelled, first_feature, places, X, strict, null, powers, unsure):
    """Write the features of every line into its row of X, which is zero where a row has no value.

    The first pass has checked labels and qids; `places` has the row of X for each row of the block. If
    `strict`, an id beyond n_features is an error; otherwise such features are skipped. `null` is the value of
    a literal ``NULL``; infinity if it is refused. `unsure`, long enough for all values, receives offset, row
    of X and column of each value whose last bit needs an exact reader. Returned are the numbers of rows, of
    values of features from 1 on, of NULLs and of unsure values, and code and offset of a fault.
    """
    n_rows, n_values, n_null, n_unsure = 0, 0, 0, NONE
    p, stop = np.uint64(0), np.uint64(len(block))
    while p < stop:
        p = skip_blanks(block, p)
        if not ends_data(block[p]):
            if n_rows >= len(places):
                return n_rows, n_values, n_null, n_unsure, FOREIGN_ROW, np.int64(p)
            p = _after_head(block, p, labelled)
            row, first = places[n_rows], n_unsure
            p, code, values, nulls, n_unsure = _fill_row(
                block, p, ONE - first_feature, X[row], strict, null, powers, unsure, first
            )
            unsure[first:n_unsure, 1] = row
            if code != FINE:
                return n_rows, n_values, n_null, n_unsure, code, np.int64(p)
            n_values += values
            n_null += nulls
            n_rows += 1
        while block[p] != NEWLINE:
            p += ONE
        p += ONE
    return n_rows, n_values, n_null, n_unsure, FINE, 0


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
    last, values, nulls = NONE, NONE, NONE
    while True:
        p = skip_blanks(block, p)
        if ends_data(block[p]):
            return p, FINE, values, nulls, n_unsure
        token = p
        p, number = digits(block, p, NONE)
        number += shift
        if block[p] != COLON or p - token - ONE >= SHORT_ID or number <= last or number > len(x):
            code = _id_fault(block, token, shift, last, len(x), strict)
            if code != FINE:
                return token, code, values, nulls, n_unsure
        last = number
        start = p + ONE
        first = start + np.uint64(block[start] == MINUS)
        p, mantissa = digits(block, first, NONE)
        power = 0
        if block[p] == POINT:
            integer_end = p + ONE
            p, mantissa = digits(block, integer_end, mantissa)
            power = -np.int64(p - integer_end)
        value, certain = np.float32(0.0), False
        # The common form: no exponent, and digits that fit the mantissa. `_any_value` reads all others.
        if p - first - ONE < LONGEST_MANTISSA and block[first] != POINT and ends_token(block[p]):
            value, certain = nearest_float32(mantissa, power, powers)
            value = -value if first != start else value
        if not certain:
            p, value, certain, code = _any_value(block, start, null, powers)
            if code != FINE:
                return start, code, values, nulls, n_unsure
            nulls += np.isnan(value)
            if not certain:
                unsure[n_unsure, 0], unsure[n_unsure, 2] = start, number - 1
                n_unsure += 1
        if number <= len(x):
            x[np.uint64(number - 1)] = value
            values += number > shift


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
    after = start
    if p == start:
        after = start + FOUR if begins(block, start, NULL) else _after_nan(block, start)
    elif not negative and _is_largest(mantissa, power):
        after = p
    if after != start:
        p, value, certain = after, null, True
        if ends_token(block[p]):
            return p, value, True, MISSING if np.isinf(null) else FINE
    if p == start or not ends_token(block[p]):
        return p, value, True, VALUE
    return p, value, certain, OVERFLOW if certain and np.isinf(value) else FINE


@kernel
def _after_nan(block, p):
    """Return the position after a NaN in any case, or p if there is none."""
    for k in range(len(NAN)):
        if block[p + np.uint64(k)] | LOWER != NAN[k]:
            return p
    return p + np.uint64(len(NAN))


@kernel
def _is_largest(mantissa, power):
    """Whether a number is the largest float64."""
    short = mantissa == SHORT_LARGEST[0] and power == SHORT_LARGEST[1]
    return short or (mantissa == LONG_LARGEST[0] and power == LONG_LARGEST[1])
