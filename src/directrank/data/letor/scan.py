"""The first pass over LETOR files: labels, queries, docids and the number of features."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from directrank.data.grouping import text_array
from directrank.data.letor.blocks import Block, Opener, blocks_of, plain_file
from directrank.data.letor.faults import FINE, LABEL, fault
from directrank.data.letor.first_pass import copy_spans, docid_spans, scan_heads

# Short docids are copied as rows of code points. One long comment would make all these rows wide.
WIDEST_ROW = 64
# Text in NumPy's form takes at most so many times the letters that it holds; otherwise it becomes objects.
WIDEST_EXCESS = 4
LEAST_PRINTED = 32


class Scan:
    """The results of the first pass over a file, or over several that form one data set.

    Attributes
    ----------
    paths : sequence of Path
    labelled : bool
    first_feature : int
        The id of the first feature, 0 or 1.
    n_rows, n_features : int
        Features as far as the largest id.
    codes : ndarray of shape (n_rows,), int64
        The query of each row, numbered by first appearance.
    qid : ndarray of shape (n_queries,)
    labels : ndarray of shape (n_rows,), float64
    docid : ndarray of shape (n_rows,) or None
    """

    def __init__(
        self, paths: Sequence[Path], labelled: bool, first_feature: int, open_file: Opener = plain_file
    ):
        self.paths, self.labelled, self._open_file = paths, labelled, open_file
        self.first_feature = np.uint64(first_feature)
        self.n_rows, self.n_features = 0, 0
        self._numbers: dict[bytes, int] = {}
        self._codes, self._labels, self._docids = [], [], []
        self._commented = False

    def blocks_of(self, path: Path) -> Iterator[Block]:
        """Cut one of the files into blocks of whole lines."""
        return blocks_of(path, self._open_file)

    def add(self, block: Block) -> None:
        """Read a block; raise its first fault that this pass can find."""
        n_lines = len(block.starts)
        lines, labels = np.empty(n_lines, np.int64), np.empty(n_lines)
        qids, fresh = np.empty((n_lines, 2), np.int64), np.empty(n_lines, np.bool_)
        n_rows, largest, code, offset = scan_heads(
            block.bytes,
            block.starts,
            block.ends,
            self.labelled,
            self.first_feature,
            lines,
            labels,
            qids,
            fresh,
        )
        n_finite = self._exact_labels(block, lines[:n_rows], labels)
        if n_finite < n_rows:
            n_rows, code, offset = n_finite, LABEL, block.first_letter(lines[n_finite])
        lines, labels, qids, fresh = lines[:n_rows], labels[:n_rows], qids[:n_rows], fresh[:n_rows]
        self._number_queries(block, qids, fresh)
        if code != FINE:
            raise fault(block, code, int(offset))
        self._labels.append(labels)
        self._docids.append(self._read_docids(block, lines))
        self.n_rows += int(n_rows)
        self.n_features = max(self.n_features, int(largest))

    def _exact_labels(self, block: Block, lines, labels) -> int:
        """Read the labels that need an exact reader; return the number of rows before one beyond float64."""
        for row in np.flatnonzero(np.isnan(labels[: len(lines)])):
            labels[row] = float(block.token(block.first_letter(lines[row])))
            if not np.isfinite(labels[row]):
                return int(row)
        return len(lines)

    def _number_queries(self, block: Block, qids, fresh) -> None:
        first = np.flatnonzero(fresh)
        numbers = np.empty(len(first), np.int64)
        for run, row in enumerate(first):
            token = block.bytes[qids[row, 0] : qids[row, 1]].tobytes()
            number = self._numbers.get(token)
            if number is None:
                self._check_text(block, int(qids[row, 0]), token)
                number = self._numbers[token] = len(self._numbers)
            numbers[run] = number
        self._codes.append(np.repeat(numbers, np.diff(np.append(first, len(fresh)))))

    def _check_text(self, block: Block, offset: int, token: bytes) -> None:
        control = next((place for place, byte in enumerate(token) if byte < LEAST_PRINTED), None)
        if control is not None:
            raise block.error(offset + control, "the qid holds a control character")
        try:
            token.decode()
        except UnicodeDecodeError as error:
            raise block.error(offset + error.start, "the qid holds bytes that are not UTF-8 text") from None

    def _read_docids(self, block: Block, lines) -> np.ndarray:
        spans = np.empty((len(lines), 2), np.int64)
        widest, ascii_only = docid_spans(block.bytes, block.ends[lines], block.stops[lines], spans)
        self._commented = self._commented or widest > 0
        if ascii_only and widest <= WIDEST_ROW and widest * len(lines) <= WIDEST_EXCESS * len(block.bytes):
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
        self.docid = _joined(self._docids) if self._commented else None
        del self._codes, self._labels, self._docids
        tokens = list(self._numbers)
        self._numbers.clear()
        self.qid = named_queries(tokens)
        return self


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Return all docids in one array; rows of code points only if they are about equally wide."""
    widest = max(part.dtype.itemsize for part in parts)
    if widest * sum(map(len, parts)) > WIDEST_EXCESS * sum(part.nbytes for part in parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


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
