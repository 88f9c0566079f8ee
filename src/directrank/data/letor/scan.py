"""The first pass over LETOR files: labels, queries, docids and the largest feature id."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from directrank.data.letor.blocks import Block
from directrank.data.letor.faults import LABEL, fault, fault_at
from directrank.data.letor.first_pass import copy_spans, docid_spans, scan_heads

# Short docids are copied as rows of code points. One long comment would make all these rows wide.
WIDEST_ROW = 64
LEAST_PRINTED = 32


class Scan:
    """The results of the first pass over a file, or over several that form one data set.

    Attributes
    ----------
    paths : sequence of Path
    labelled : bool
    n_rows, largest_id : int
    codes : ndarray of shape (n_rows,), int64
        The query of each row, numbered by first appearance.
    qid : ndarray of shape (n_queries,)
    labels : ndarray of shape (n_rows,), float64
    docid : ndarray of shape (n_rows,) or None
    """

    def __init__(self, paths: Sequence[Path], labelled: bool):
        self.paths, self.labelled = paths, labelled
        self.n_rows, self.largest_id = 0, 0
        self._numbers: dict[bytes, int] = {}
        self._codes, self._labels, self._docids = [], [], []
        self._commented = False

    def add(self, block: Block) -> tuple[int, int, int]:
        """Read a block; return the code and offset of its first fault, and the number of lines before it."""
        n_lines = len(block.starts)
        lines, labels = np.empty(n_lines, np.int64), np.empty(n_lines)
        qids, fresh = np.empty((n_lines, 2), np.int64), np.empty(n_lines, np.bool_)
        n_rows, largest, code, place = scan_heads(
            block.bytes, block.starts, block.ends, self.labelled, lines, labels, qids, fresh
        )
        offset = int(place)
        lines, labels, qids, fresh = lines[:n_rows], labels[:n_rows], qids[:n_rows], fresh[:n_rows]
        self._exact_labels(block, lines, labels)
        self._number_queries(block, lines, qids, fresh)
        self._labels.append(labels)
        self._docids.append(self._read_docids(block, lines))
        self.n_rows += int(n_rows)
        self.largest_id = max(self.largest_id, int(largest))
        good = block.line_of(offset) if code else n_lines
        return code, offset, good

    def _exact_labels(self, block: Block, lines, labels) -> None:
        for row in np.flatnonzero(np.isnan(labels)):
            line = lines[row]
            text = block.bytes[block.starts[line] : block.ends[line]].tobytes()
            value = float(text.split(None, 1)[0])
            if not np.isfinite(value):
                offset = int(block.starts[line]) + len(text) - len(text.lstrip())
                raise fault(block, LABEL, offset)
            labels[row] = value

    def _number_queries(self, block: Block, lines, qids, fresh) -> None:
        first = np.flatnonzero(fresh)
        numbers = np.empty(len(first), np.int64)
        for run, row in enumerate(first):
            token = block.bytes[qids[row, 0] : qids[row, 1]].tobytes()
            number = self._numbers.get(token)
            if number is None:
                self._check_text(block, int(lines[row]), int(qids[row, 0]), token)
                number = self._numbers[token] = len(self._numbers)
            numbers[run] = number
        self._codes.append(np.repeat(numbers, np.diff(np.append(first, len(fresh)))))

    def _check_text(self, block: Block, line: int, offset: int, token: bytes) -> None:
        control = next((place for place, byte in enumerate(token) if byte < LEAST_PRINTED), None)
        if control is not None:
            raise fault_at(block, line, offset + control, "the qid holds a control character")
        try:
            token.decode()
        except UnicodeDecodeError as error:
            problem = "the qid holds bytes that are not UTF-8 text"
            raise fault_at(block, line, offset + error.start, problem) from None

    def _read_docids(self, block: Block, lines) -> np.ndarray:
        spans = np.empty((len(lines), 2), np.int64)
        widest, ascii_only = docid_spans(block.bytes, block.ends[lines], block.stops[lines], spans)
        self._commented = self._commented or widest > 0
        if ascii_only and widest <= WIDEST_ROW:
            letters = np.zeros((len(lines), max(widest, 1)), np.uint32)
            copy_spans(block.bytes, spans, letters)
            return letters.view(f"U{letters.shape[1]}")[:, 0]
        texts = np.empty(len(lines), object)
        for row, (start, end) in enumerate(spans):
            texts[row] = block.bytes[start:end].tobytes().decode("utf-8", "backslashreplace")
        return texts

    @property
    def name(self) -> str:
        """The files' names, for messages."""
        return " + ".join(map(str, self.paths))

    def finish(self) -> "Scan":
        """Concatenate the arrays of all blocks."""
        self.codes, self.labels = np.concatenate(self._codes), np.concatenate(self._labels)
        self.docid = np.concatenate(self._docids) if self._commented else None
        self.qid = named_queries(list(self._numbers))
        del self._codes, self._labels, self._docids
        return self


def data_lines(block: Block) -> np.ndarray:
    """Return the numbers of the lines of a block that hold a document."""
    spans = zip(block.starts.tolist(), block.ends.tolist(), strict=True)
    filled = [bool(block.bytes[start:end].tobytes().strip(b" \t")) for start, end in spans]
    return np.flatnonzero(filled)


def named_queries(tokens: list[bytes]) -> np.ndarray:
    """Return tokens as int64 if all are plain integers of that range, or else as text."""
    texts = [token.decode() for token in tokens]
    numbers = [_plain_integer(text) for text in texts]
    if any(number is None for number in numbers):
        return np.array(texts)
    return np.array(numbers, dtype=np.int64)


def _plain_integer(text: str) -> int | None:
    """Return the integer whose text this is, or None: 007 and 7 are different queries."""
    if len(text) > 20 or not text.lstrip("-").isascii() or not text.lstrip("-").isdigit():
        return None
    number = int(text) if text.count("-") <= 1 else None
    return number if number is not None and str(number) == text and -(2**63) <= number < 2**63 else None
