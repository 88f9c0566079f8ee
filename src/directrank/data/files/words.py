"""Files of words separated by blanks: qrels and runs, with kernels that split lines and number words."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from directrank.data.files.numbers import BLANK, TAB, copy_spans, decimal
from directrank.data.files.opening import Block, blocks_of
from directrank.data.grouping import text_array
from directrank.errors import DataFormatError
from directrank.kernels.compile import kernel

# Integers and powers of ten up to these are exact in float64, so that one operation rounds once.
EXACT_INTEGER, EXACT_POWER = 2**53, 22
POWERS = 10.0 ** np.arange(EXACT_POWER + 1)
# Mantissas below this have all their digits; longer ones may have been cut.
WHOLE_MANTISSA = 10**17
# The rest of a quotient is off by far less than this share of the quotient.
UNSURE, SPLIT = 2.0**-95, 2.0**27 + 1.0
#: The power of what is no decimal.
NO_DECIMAL = 2**30
SHOWN, WIDEST_ENTRY = 40, 64


@dataclass(frozen=True, eq=False)
class Rows:
    """The lines of a file that are not blank, as words."""

    block: Block  # The whole file
    line: np.ndarray  # (n_rows,), int64: The index of each row's line in the block
    words: np.ndarray  # (n_rows, n_columns, 2), int64: First and last byte, exclusive, of each word

    def text(self, row: int, column: int) -> str:
        """Return a word."""
        return text_of(self.block.bytes, self.words[row, column])

    def error(self, row: int, column: int, problem: str) -> DataFormatError:
        """Return an error that names the line and column of a word."""
        return self.block.error(int(self.words[row, column, 0]), problem)

    def numbers(self, column: int, expected: str) -> np.ndarray:
        """Return a column as float64, rounded as Python rounds; `expected` ends the message of a fault."""
        mantissas, powers = np.empty((2, len(self.line)), np.int64)
        words = np.ascontiguousarray(self.words[:, column])
        _read_decimals(self.block.bytes, words, mantissas, powers)
        values, sure = _products(mantissas, powers)
        rest = np.flatnonzero(~sure & (powers != NO_DECIMAL))
        values[powers == NO_DECIMAL] = np.nan
        values[rest] = as_bytes(self.block.bytes, words[rest]).astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise self.error(wrong[0], column, f"found {shown(self.text(wrong[0], column))}, {expected}")
        return values


def read_rows(path: Path, n_words: int, expected: str) -> Rows:
    """Read a file, plain or gzipped, whose lines have `n_words` words each.

    Raises DataFormatError if a line has another number of words; `expected` ends the message.
    """
    blocks = [block.bytes.copy() for block in blocks_of(path)]
    if not blocks:
        raise DataFormatError(str(path), 0, 0, f"is empty, {expected}")
    whole = Block(path, np.concatenate(blocks), 1)
    n_lines = len(whole.starts)
    words, line = np.empty((n_lines, n_words, 2), np.int64), np.empty(n_lines, np.int64)
    n_rows, wrong, found = _split(whole.bytes, whole.starts, whole.stops, words, line)
    if wrong >= 0:
        raise whole.error(int(whole.starts[wrong]), f"found {found} words, {expected}")
    if not n_rows:
        raise DataFormatError(str(path), 0, 0, f"holds no line with words, {expected}")
    return Rows(whole, line[:n_rows], words[:n_rows])


def text_of(content: np.ndarray, word: np.ndarray) -> str:
    """Return a word as text."""
    return content[word[0] : word[1]].tobytes().decode("utf-8", "backslashreplace")


def _products(mantissas: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mantissas times powers of ten as float64, and where these are surely rounded once."""
    small = np.abs(powers) <= EXACT_POWER
    power = POWERS[np.where(small, np.abs(powers), 0)]
    values = np.where(powers < 0, mantissas / power, mantissas * power)
    sure = small & (np.abs(mantissas) <= EXACT_INTEGER)
    long = np.flatnonzero(small & ~sure & (powers < 0) & (np.abs(mantissas) < WHOLE_MANTISSA))
    values[long], sure[long] = _quotients(mantissas[long], power[long])
    return values, sure


def _quotients(mantissas: np.ndarray, divisors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quotients of whole numbers of more than 53 bits, and where these are surely rounded once."""
    high = mantissas.astype(np.float64)
    low = (mantissas - high.astype(np.int64)).astype(np.float64)
    first = high / divisors
    product = first * divisors
    (a, b), (c, d) = _halves(first), _halves(divisors)
    error = ((a * c - product) + a * d + b * c) + b * d  # of the product (Dekker 1971)
    rest, slack = (((high - product) - error) + low) / divisors, np.abs(first) * UNSURE
    return first + rest, first + (rest - slack) == first + (rest + slack)


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers as sums of two of 26 bits."""
    scaled = SPLIT * values
    upper = scaled - (scaled - values)
    return upper, values - upper


def as_bytes(content: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return words as an array of bytes; of type object where a long one would make all entries long."""
    widest = int((words[:, 1] - words[:, 0]).max(initial=1))
    if widest > WIDEST_ENTRY:
        return np.array([content[first:last].tobytes() for first, last in words], object)
    letters = np.zeros((len(words), widest), np.uint8)
    copy_spans(content, words, letters)
    return letters.view(f"S{widest}")[:, 0]


def shown(text: str) -> str:
    """Return a word for a message."""
    return ascii(text) if len(text) <= SHOWN else f"{ascii(text[:SHOWN])[:-1]}…'"


def numbered(content: np.ndarray, words: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number words in the order in which they first appear; words of different groups differ.

    Returned are the number of each word, and the first word of each number.
    """
    # The same word often stands in many lines in turn, such as the query.
    fresh = np.empty(len(words), np.bool_)
    _mark_changes(content, words, group, fresh)
    rows = np.flatnonzero(fresh)
    codes, first = np.empty((2, len(rows)), np.int64)
    # At most two thirds of the slots are taken, so that a search ends soon.
    slots = np.full(1 << (len(rows) * 3 // 2).bit_length(), -1, np.int32)
    with np.errstate(over="ignore"):  # Without compilation NumPy would warn of hashes that wrap around.
        n_different = _number(content, words[rows], group[rows], slots, codes, first)
    return codes[np.cumsum(fresh) - 1], rows[first[:n_different]]


def numbered_naive(texts: list[str], group: list[int]) -> list[int]:
    """Numbers of words by definition, for tests."""
    codes: dict = {}
    return [codes.setdefault(each, len(codes)) for each in zip(group, texts, strict=True)]


def named_queries(tokens: list[bytes]) -> np.ndarray:
    """Return tokens as int64 if all are plain integers of that range, or else as text.

    007 and 7 are different queries.
    """
    texts = text_array([token.decode() for token in tokens])
    try:
        numbers = texts.astype(np.int64)
    except (ValueError, OverflowError):
        return texts
    printed = numbers.astype(texts.dtype if texts.dtype.kind == "U" else str)
    return numbers if np.array_equal(printed, texts) else texts


@kernel
def _blank(byte):
    return byte in (BLANK, TAB)


@kernel
def _split(content, starts, stops, words, line):
    width, row = words.shape[1], 0
    for i in range(len(starts)):
        p, stop, count = starts[i], stops[i], 0
        while p < stop:
            if _blank(content[p]):
                p += 1
                continue
            first = p
            while p < stop and not _blank(content[p]):
                p += 1
            if count < width:
                words[row, count, 0], words[row, count, 1] = first, p
            count += 1
        if count == width:
            line[row] = i
            row += 1
        elif count > 0:
            return row, i, count
    return row, -1, 0


@kernel
def _read_decimals(content, words, mantissas, powers):
    for i in range(len(words)):
        end, negative, mantissa, power = decimal(content, np.uint64(words[i, 0]))
        whole = end == np.uint64(words[i, 1])
        mantissas[i] = -mantissa if negative else mantissa
        powers[i] = power if whole else NO_DECIMAL


@kernel
def _equal(content, words, i, j):
    length = words[i, 1] - words[i, 0]
    if length != words[j, 1] - words[j, 0]:
        return False
    a, b, same = words[i, 0], words[j, 0], 0
    while same < length and content[a + same] == content[b + same]:
        same += 1
    return same == length


@kernel
def _mark_changes(content, words, group, fresh):
    for i in range(len(words)):
        fresh[i] = i == 0 or group[i] != group[i - 1] or not _equal(content, words, i, i - 1)


@kernel
def _hash(content, first, last, group):
    # FNV-1a; the high bits are folded down because the lowest ones choose the slot.
    value = np.uint64(14695981039346656037) ^ np.uint64(group * 0x9E3779B1)
    for p in range(first, last):
        value = (value ^ np.uint64(content[p])) * np.uint64(1099511628211)
    return value ^ (value >> np.uint64(29))


@kernel
def _number(content, words, group, slots, codes, first):
    mask, n = np.uint64(len(slots) - 1), 0
    for i in range(len(words)):
        slot = _hash(content, words[i, 0], words[i, 1], group[i]) & mask
        while True:
            code = slots[slot]
            if code < 0:
                slots[slot], first[n], codes[i] = n, i, n
                n += 1
                break
            if group[first[code]] == group[i] and _equal(content, words, i, first[code]):
                codes[i] = code
                break
            slot = (slot + np.uint64(1)) & mask
    return n
