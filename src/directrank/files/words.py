"""Files of words separated by blanks: qrels and runs, as columns of words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np

from directrank.data.grouping import text_array
from directrank.errors import DataError, DataFormatError
from directrank.files.letor_lines import copy_spans, decimal
from directrank.files.opening import HASH, NEWLINE, Block, blocks_of, end_line
from directrank.kernels.compile import kernel

#: Which bytes are not blank, as for `bytes.split`.
IN_WORD = np.array([not bytes([byte]).isspace() for byte in range(256)])
TAB = b"\t"[0]
#: The longest word that a message shows whole.
SHOWN = 40
#: Powers of ten that float64 holds exactly.
POWERS_OF_TEN = np.array([float(f"1e{power}") for power in range(23)])
FIRST_NOT_ASCII = 128
#: Columns with longer words are of type object.
WIDEST_ENTRY = 64
#: Longer texts, which have four bytes a letter in NumPy's form, are of type object.
WIDEST_TEXT = 16


@dataclass(frozen=True, eq=False)
class Rows:
    """The lines of a file that are not blank, as words, which are copied when a column is asked for."""

    path: Path
    line: np.ndarray  # (n_rows,), int64: The number of each row's line, from 1
    content: np.ndarray  # The bytes of the file
    spans: Sequence[np.ndarray]  # Of each column where its words begin, and where they have ended (n_rows, 2)
    block: Block | None = None  # The lines of the file; None of a table
    _columns: dict[int, np.ndarray] = field(default_factory=dict, init=False)
    _numbered: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, init=False)

    def column(self, column: int) -> np.ndarray:
        """Return the words of a column, bytes (n_rows,)."""
        if column not in self._columns:
            self._columns[column] = as_bytes(self.content, np.ascontiguousarray(self.spans[column], np.int64))
        return self._columns[column]

    def numbered(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each row's word, and the first row of each number; see `numbered`."""
        if column not in self._numbered:
            self._numbered[column] = numbered(self.column(column))
        return self._numbered[column]

    def chosen(self, which: np.ndarray) -> "Rows":
        """Return some of the rows; `which` is bool (n_rows,)."""
        spans = [words[which] for words in self.spans]
        return Rows(self.path, self.line[which], self.content, spans, self.block)

    def text(self, row: int, column: int) -> str:
        """Return a word."""
        start, end = self.spans[column][row].tolist()
        return text_of(self.content[start:end].tobytes())

    def error(self, row: int, column: int, problem: str) -> DataFormatError:
        """Return an error that names the line and column of a word."""
        if self.block is None:
            return DataFormatError(str(self.path), int(self.line[row]), 0, problem)
        return self.block.error(int(self.spans[column][row, 0]), problem)

    def numbers(self, column: int, expected: str) -> np.ndarray:
        """Return a column as float64, rounded as Python rounds; `expected` ends the message of a fault."""
        spans, values = np.ascontiguousarray(self.spans[column], np.int64), np.empty(len(self.line))
        odd = np.flatnonzero(~_short_decimals(self.content, spans, POWERS_OF_TEN, values))
        if len(odd):
            words = as_bytes(self.content, spans[odd])
            try:
                values[odd] = words.astype(np.float64)
            except ValueError:
                values[odd] = list(map(_number, words.tolist()))
            if b"_" in words.tobytes():  # Python reads 1_0 as 10.
                values[odd[[b"_" in word for word in words.tolist()]]] = np.nan
        wrong = ~np.isfinite(values)
        if wrong.any():
            row = int(wrong.argmax())
            raise self.error(row, column, f"found {quoted(self.text(row, column))}, {expected}")
        return values


def rows_of(path: Path, line: np.ndarray, columns: Sequence[Sequence[bytes]]) -> Rows:
    """Return columns of words, which a table has, as rows of a file; the same column may stand twice."""
    distinct = {id(words): words for words in columns}
    # A line break ends each word, as in a file.
    stops = np.cumsum([len(word) + 1 for words in distinct.values() for word in words])
    spans = np.stack((np.append(0, stops[:-1]), stops - 1), axis=1).reshape(len(distinct), -1, 2)
    content = np.frombuffer(
        b"".join(b"%b\n" % word for words in distinct.values() for word in words), np.uint8
    )
    by_column = dict(zip(distinct, spans, strict=True))
    return Rows(path, line, content, [by_column[id(words)] for words in columns])


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return np.nan


@dataclass(frozen=True, eq=False)
class Words:
    """The words of the lines of a file that are not blank; lines may have different numbers of them."""

    block: Block
    line: np.ndarray  # (n_rows,), int64: The number of each row's line, from 1
    spans: np.ndarray  # (n_words, 2), int32 or int64: Where each word begins, and where it has ended
    counts: np.ndarray  # (n_rows,), int64: The number of words of each row
    first: np.ndarray  # (n_rows,), int64: The place of each row's first word in `spans`

    def error(self, row: int, problem: str) -> DataFormatError:
        """Return an error that names the line of a row."""
        return self.block.error(int(self.block.starts[self.line[row] - 1]), problem)

    def row(self, row: int) -> list[str]:
        """Return the words of a row."""
        spans = self.spans[self.first[row] : self.first[row] + self.counts[row]]
        return [text_of(self.block.bytes[start:end].tobytes()) for start, end in spans]

    def notes(self) -> list[str]:
        """Return a line about bytes that are not UTF-8 text, and about a last number that may be cut."""
        return [*self._encoding_notes(), *filter(None, [end_line(self.block.path)])]

    def _encoding_notes(self) -> list[str]:
        if self.block.bytes.max() < FIRST_NOT_ASCII:
            return []
        try:
            self.block.bytes.tobytes().decode()
        except UnicodeDecodeError as error:
            line = self.block.line_of(error.start) + 1
            return [
                f"{self.block.path}: line {line} holds bytes that are not UTF-8 text, and names are compared "
                "byte by byte; save all files in one encoding"
            ]
        return []

    def refuse_other(self, n_words: int, expected: str) -> None:
        """Raise DataFormatError if a row has another number of words; `expected` ends the message."""
        wrong = np.flatnonzero(self.counts != n_words)
        if len(wrong):
            raise self.error(int(wrong[0]), f"found {self.counts[wrong[0]]} words, {expected}")

    def rows(self, *places: int | np.ndarray) -> Rows:
        """Return columns of words: of each the place in its row, from 0, or from -1 backwards."""
        width = int(self.counts[0])
        if (self.counts == width).all():  # then no span need be copied
            by_row, rows = self.spans.reshape(-1, width, 2), np.arange(len(self.line))
            spans = [by_row[:, place] if isinstance(place, int) else by_row[rows, place] for place in places]
        else:
            at = [np.where(np.less(place, 0), self.counts + place, place) for place in places]
            spans = [self.spans[self.first + of_rows] for of_rows in at]
        return Rows(self.block.path, self.line, self.block.bytes, spans, self.block)


def read_words(
    path: Path, expected: str, separator: str | None = None, comment_at: int | None = None
) -> Words:
    """Read the words of a file, plain or compressed, between blanks or another separator.

    As in trec_eval, lines that begin with # are comments; the word `comment_at` begins one, too, if it begins
    so. Tabs alone separate words where every line has as many, and names of documents hold blanks.

    Raises DataFormatError if there are none; `expected` ends the message.
    """
    blocks = [block.bytes.copy() for block in blocks_of(path)]
    if not blocks:
        raise DataFormatError(str(path), 0, 0, f"is empty, {expected}")
    block = Block(path, np.concatenate(blocks), 1)
    del blocks
    words = _words(block, separator, comment_at)
    if separator is None and _are_cells(words):
        words = _words(block, "\t", comment_at)
    if not len(words.spans):
        raise DataFormatError(str(path), 0, 0, f"holds no line with words, {expected}")
    if separator is not None:
        _unquote(block, words.spans)
    return words


def _words(block: Block, separator: str | None, comment_at: int | None) -> Words:
    """Return the words of the lines that are no comments."""
    in_word = IN_WORD
    if separator is not None:
        in_word = ~np.isin(np.arange(len(IN_WORD)), np.frombuffer(f"{separator}\r\n".encode(), np.uint8))
    # Only the pages that are written take memory.
    place = np.int32 if len(block.bytes) < 2**31 else np.int64
    spans = np.empty((len(block.bytes) // 2 + 1, 2), place)
    first = np.zeros(np.count_nonzero(block.bytes == NEWLINE) + 1, np.int64)
    spans = spans[: _find_words(block.bytes, in_word, spans, first)]
    first, counts = first[:-1], np.diff(first)
    if (block.bytes == HASH).any():
        begins = block.bytes[spans[:, 0]] == HASH
        least = counts.copy()
        line = np.flatnonzero(counts)
        least[line[begins[first[line]]]] = 0
        if comment_at is not None:
            line = np.flatnonzero(least > comment_at)
            least[line[begins[first[line] + comment_at]]] = comment_at
        number = np.arange(len(spans)) - np.repeat(first, counts)
        spans = spans[number < np.repeat(least, counts)]
        counts, first = least, np.cumsum(least) - least
    line = np.flatnonzero(counts)
    return Words(block, line + 1, spans, counts[line], first[line])


def _are_cells(words: Words) -> bool:
    """Whether tabs alone separate the words of every line, and names of documents hold blanks."""
    content, n_rows = words.block.bytes, len(words.line)
    n_tabs = np.count_nonzero(content == TAB)
    if not n_tabs or n_tabs % n_rows or (words.counts == n_tabs // n_rows + 1).all():
        return False
    starts, stops = words.block.starts[words.line - 1], words.block.stops[words.line - 1]
    lines = (content[start:stop].tobytes() for start, stop in zip(starts, stops, strict=True))
    return all(len(cells_between_tabs(line)) == n_tabs // n_rows + 1 for line in lines)


def cells_between_tabs(line: bytes) -> list[bytes]:
    """Return the cells of a line of a run or of qrels whose document may hold blanks; none of any other."""
    cells = line.split(b"\t")
    document = {3: 1, 4: 2, 6: 2}.get(len(cells))
    rest = [cell for place, cell in enumerate(cells) if place != document]
    return cells if document and all(len(cell.split()) == 1 for cell in rest) else []


def _unquote(block: Block, spans: np.ndarray) -> None:
    """Move the ends of quoted words inside their quotes; raise DataFormatError where these do not fit."""
    for at in np.flatnonzero(block.bytes[spans[:, 0]] == ord('"')):
        word = block.bytes[spans[at, 0] : spans[at, 1]].tobytes()
        if len(word) < 3 or word.find(b'"', 1) != len(word) - 1:
            raise block.error(
                int(spans[at, 0]),
                f"found {quoted(text_of(word))}: a quoted value with a separator or a quote in it, or "
                "without a text; write a line of names above it, such as qid,docid,score",
            )
        spans[at] += (1, -1)


def read_rows(path: Path, n_words: int, expected: str) -> Rows:
    """Read a file, plain or compressed, whose lines have `n_words` words each.

    Raises DataFormatError if a line has another number of words; `expected` ends the message.
    """
    words = read_words(path, expected)
    words.refuse_other(n_words, expected)
    return words.rows(*range(n_words))


def as_bytes(content: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Return words as an array of bytes; of type object where a long one would make all entries long."""
    widest = max(int((words[:, 1] - words[:, 0]).max()), 1)
    # NumPy's form is padded with NUL.
    if widest > WIDEST_ENTRY or (content.size and not content[words[:, 1] - 1].all()):
        return np.array([content[first:last].tobytes() for first, last in words], object)
    letters = np.zeros((len(words), widest), np.uint8)
    copy_spans(content, words, letters)
    return letters.view(f"S{widest}")[:, 0]


def encoded(names: Iterable[object], where: str) -> list[bytes]:
    """Return names as words.

    Raises DataError if one has half of a pair of surrogates, which JSON can write and no encoding holds.
    """
    words = []
    for row, name in enumerate(names, 1):
        try:
            words.append(str(name).encode())
        except UnicodeEncodeError:
            problem = "has half of a pair of surrogates, which is no character; write names in UTF-8"
            raise DataError(f"{where}: row {row}: {name!a} {problem}") from None
    return words


def text_of(word: bytes) -> str:
    """Return a word as text."""
    return word.decode("utf-8", "backslashreplace")


def texts_of(words: np.ndarray) -> np.ndarray:
    """Return words as texts, of type object if some are long."""
    if words.dtype.kind == "S":
        letters = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1)
        if letters.max(initial=0) < FIRST_NOT_ASCII:
            texts = letters.astype(np.uint32).view(f"U{letters.shape[1]}")[:, 0]
            return texts if words.dtype.itemsize <= WIDEST_TEXT else texts.astype(object)
    return np.array(list(map(text_of, words.tolist())), object)


def quoted(text: str) -> str:
    """Return a word for a message."""
    return ascii(text) if len(text) <= SHOWN else f"{ascii(text[:SHOWN])[:-1]}…'"


def numbered(words: np.ndarray, group: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Number words in the order in which they first appear; words of different groups differ.

    Returned are the number of each word, and the first word of each number.
    """
    if words.dtype == object:  # the row of the first equal word stands for each
        rows: dict[bytes, int] = {}
        words = np.array(list(map(rows.setdefault, words.tolist(), count())), np.int64)
    if group is None:
        # The same word often stands in many lines in turn, such as the query.
        fresh = np.flatnonzero(np.append(True, words[1:] != words[:-1]))
        codes, first = numbered(words[fresh], np.zeros(len(fresh), np.int64))
        return np.repeat(codes, np.diff(fresh, append=len(words))), fresh[first]
    letters = np.ascontiguousarray(words).view(np.uint8).reshape(len(words), -1)
    # Groups one after the other: a table of the words of one fits the processor's cache.
    order = np.arange(len(words))
    if (group[1:] < group[:-1]).any():
        order = np.argsort(group.astype(np.min_scalar_type(int(group.max(initial=0)))), kind="stable")
        group = group[order]
    stops = np.append(np.flatnonzero(group[1:] != group[:-1]) + 1, len(words))
    # At most two thirds of the slots are taken, so that a search ends soon.
    most = int(np.diff(stops, prepend=0).max())
    slots = np.empty(1 << (most * 3 // 2).bit_length(), np.int64)
    first = np.empty(len(words), np.int64)  # the first row of each one's word
    with np.errstate(over="ignore"):  # Without compilation NumPy would warn of hashes that wrap around.
        _find_first_rows(letters, order, stops, slots, first)
    is_first = first == np.arange(len(first))
    return (np.cumsum(is_first) - 1)[first], np.flatnonzero(is_first)


def named_queries(names: Iterable[str]) -> np.ndarray:
    """Return names as int64 if all are plain integers of that range, or else as text.

    007 and 7 are different queries.
    """
    texts = text_array(list(names))
    try:
        numbers = texts.astype(np.int64)
    except (ValueError, OverflowError):
        return texts
    printed = numbers.astype(texts.dtype if texts.dtype.kind == "U" else str)
    return numbers if np.array_equal(printed, texts) else texts


@kernel
def _find_words(content, in_word, spans, first):
    """Write the ends of words and how many there are before each line; return their number."""
    n, line, inside = 0, 0, False
    for i in range(len(content)):
        if in_word[content[i]] != inside:
            spans[n, np.int64(inside)] = i
            n += inside
            inside = not inside
        if content[i] == NEWLINE:
            line += 1
            first[line] = n
    return n


@kernel
def _short_decimals(content, spans, powers, values):
    """Write decimals whose digits and power of ten float64 holds exactly; return which words are such.

    Their quotient or product is rounded once, so it is the nearest number.
    """
    known = np.zeros(len(spans), np.bool_)
    for row in range(len(spans)):
        start, end = np.uint64(spans[row, 0]), np.uint64(spans[row, 1])
        stop, negative, mantissa, power = decimal(content, start)
        # A digit behind the eighteenth is cut; zeros have a sign, which compiled code may lose.
        exact = -len(powers) < power <= 0 and mantissa < 2**53 and (mantissa > 0 or not negative)
        known[row] = start < stop == end and exact
        if known[row]:
            value = np.float64(mantissa) / powers[-power]
            values[row] = -value if negative else value
    return known


@kernel
def _find_first_rows(letters, order, stops, slots, first):
    """Write for each row the first row of its group with the same letters; `order` has the rows by group."""
    start = 0
    for stop in stops:
        size = np.int64(2)
        while 2 * size < 3 * (stop - start):
            size *= 2
        mask = np.uint64(size - 1)
        for slot in range(size):
            slots[slot] = -1
        for row in order[start:stop]:
            # FNV-1a; the high bits are folded down because the lowest ones choose the slot.
            value = np.uint64(14695981039346656037)
            for letter in letters[row]:
                value = (value ^ np.uint64(letter)) * np.uint64(1099511628211)
            slot = (value ^ (value >> np.uint64(29))) & mask
            while True:
                other = slots[slot]
                if other < 0:
                    slots[slot], first[row] = row, row
                    break
                same = 0
                while same < letters.shape[1] and letters[other, same] == letters[row, same]:
                    same += 1
                if same == letters.shape[1]:
                    first[row] = other
                    break
                slot = (slot + np.uint64(1)) & mask
        start = stop
