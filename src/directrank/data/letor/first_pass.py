"""The first pass over LETOR text: label, qid, docid and the last feature id of every line."""

import numpy as np

from directrank.data.letor.faults import EMPTY_QID, FINE, LABEL, LARGEST_ID, NEGATIVE, NO_QID
from directrank.data.letor.numbers import (
    BLANK,
    COLON,
    DOCID,
    EXACT_INTEGER,
    FIVE,
    FOUR,
    NONE,
    ONE,
    QID,
    TAB,
    begins,
    decimal,
    long_digits,
    skip_blanks,
    skip_token,
)
from directrank.kernels.compile import kernel

EQUALS = np.uint8(61)


@kernel
def scan_heads(block, starts, ends, labelled, first_feature, lines, labels, qids, fresh):
    """Read label and qid of every line, and count features by looking at its last token.

    Parameters
    ----------
    block : ndarray of uint8
    starts, ends : ndarray of shape (n_lines,), int64
        Where a line starts, and where its data end.
    labelled : bool
        Whether labels must be grades; otherwise a line may begin with its qid.
    first_feature : int
        The id of the first feature, 0 or 1.
    lines, labels : ndarray of shape (n_lines,), int64 and float64
        Out, for each row: its line and its label. A label is NaN where its decimal needs an exact reader.
    qids : ndarray of shape (n_lines, 2), int64
        Out, for each row: start and end of the token after ``qid:``.
    fresh : ndarray of shape (n_lines,), bool
        Out: whether the token differs from that of the row before.

    Returns
    -------
    n_rows, n_features, code, offset : int
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

    Parameters
    ----------
    block : ndarray of uint8
    comments, stops : ndarray of shape (n_rows,), int64
        Start of the comment of each row, and end of its line: equal if there is no comment.
    spans : ndarray of shape (n_rows, 2), int64
        Out: start and end of each docid.

    Returns
    -------
    widest : int
        Bytes of the longest docid.
    ascii_only : bool
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
def copy_spans(block, spans, letters):
    """Copy ASCII spans into rows of code points, NumPy's form of text."""
    for i in range(len(spans)):
        name = block[spans[i, 0] : spans[i, 1]]
        for k in range(len(name)):
            letters[i, k] = name[k]
