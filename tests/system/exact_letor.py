"""LETOR text by definition, slowly, with exact arithmetic: what the reader is compared with."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

NUMBER = re.compile(rb"([+-]?)(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
#: Wider rows are not compared.
WIDEST = 10_000


class Refused(Exception):  # noqa: N818 - a fault of the text
    """A line is malformed; 0 for the whole file."""

    def __init__(self, line: int):
        super().__init__(line)
        self.line = line


def parsed(text: bytes) -> dict[str, Any]:
    """Return X, relevance, qid and docid of LETOR text; X is None where it is very wide."""
    if text.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise Refused(1)
    lines = text.split(b"\n")
    rows = [row for number, line in enumerate(lines, 1) if (row := _row(line, number, number < len(lines)))]
    if not rows:
        raise Refused(0)
    labels, qids, features, docids = zip(*rows, strict=True)
    width = max((column for row in features for column in row), default=0)
    if not width:
        raise Refused(0)
    X = None if width > WIDEST else np.zeros((len(rows), width), np.float32)
    for place, row in enumerate(features if X is not None else ()):
        for column, value in row.items():
            X[place, column - 1] = value
    commented = any(docids)
    return {
        "X": X,
        "relevance": np.array(labels),
        "qid": _names(qids),
        "docid": list(docids) if commented else None,
    }


def _row(line: bytes, number: int, ended: bool):
    """Return label, qid, features and docid of a line; None if it has no data."""
    line = line.removesuffix(b"\r")
    if b"\0" in line or b"\r" in line:
        raise Refused(number)
    data, _, comment = line.partition(b"#")
    tokens = [token for token in re.split(rb"[ \t]+", data) if token]
    if not tokens:
        return None
    match = NUMBER.fullmatch(tokens[0])
    label = float(tokens[0]) if match else np.inf
    negative = match and match[1] == b"-" and re.search(rb"[1-9]", tokens[0].lower().split(b"e")[0])
    if not match or negative or not np.isfinite(label) or len(tokens) < 2:
        raise Refused(number)
    if not tokens[1].startswith(b"qid:") or tokens[1] == b"qid:":
        raise Refused(number)
    try:
        qid = tokens[1][4:].decode()
    except UnicodeDecodeError:
        raise Refused(number) from None
    if min(map(ord, qid)) < 32:
        raise Refused(number)
    return abs(label), qid, _features(tokens[2:], number), _docid(comment)


def _features(tokens: list[bytes], number: int) -> dict[int, np.float32]:
    found: dict[int, np.float32] = {}
    for token in tokens:
        column, colon, value = token.partition(b":")
        if not colon or not re.fullmatch(rb"[0-9]+", column) or not NUMBER.fullmatch(value):
            raise Refused(number)
        place = int(column)
        if place <= max(found, default=0) or place > 2**31 - 1:
            raise Refused(number)
        found[place] = nearest(value)
        if np.isinf(found[place]):
            raise Refused(number)
    return found


def nearest(text: bytes) -> np.float32:
    """Return the float32 nearest to a decimal, ties to even, by exact fractions."""
    sign = np.float32(-1 if text.startswith(b"-") else 1)
    mantissa, _, exponent = text.lower().partition(b"e")
    if len(exponent) > 9:  # beyond what Decimal reads
        large = re.search(rb"[1-9]", mantissa) and not exponent.startswith(b"-")
        return sign * np.float32(np.inf if large else 0)
    exact = Decimal(text.decode())
    if exact.is_zero() or exact.adjusted() < -60:
        return sign * np.float32(0)
    if exact.adjusted() > 60:
        return sign * np.float32(np.inf)
    target = abs(Fraction(exact))
    # Half the distance to the next power of two beyond the largest float32 rounds up to infinity.
    if target >= Fraction(2**128) - Fraction(2**103):
        return sign * np.float32(np.inf)
    low, high = 0, int(np.float32(np.finfo(np.float32).max).view(np.int32))
    while low < high:  # the largest float32 that is not above the target, by its bits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fraction(middle) <= target else (low, middle - 1)
    below, above = target - _fraction(low), _fraction(low + 1) - target if low < 2139095039 else target
    bits = low if below < above or (below == above and low % 2 == 0) else low + 1
    return sign * np.int32(bits).view(np.float32)


def _fraction(bits: int) -> Fraction:
    return Fraction(float(np.int32(bits).view(np.float32)))


def _docid(comment: bytes) -> str:
    text = comment.strip(b" \t")
    match = re.match(rb"docid[ \t]*=[ \t]*([^ \t]*)", text)
    return (match[1] if match else text).decode("utf-8", "backslashreplace")


def _names(qids: tuple[str, ...]) -> list:
    numbers = [int(qid) if re.fullmatch(r"-?[0-9]{1,19}", qid) else None for qid in qids]
    plain = all(number is not None and str(number) == qid for number, qid in zip(numbers, qids, strict=True))
    inside = plain and all(-(2**63) <= number < 2**63 for number in numbers if number is not None)
    return numbers if inside else list(qids)
