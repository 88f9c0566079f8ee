"""LETOR and SVMlight text: ``label qid:query id:value … # comment``, in and out.

A file is read twice. The first pass reads labels, queries and the largest feature id. The second pass can
then write each row directly to its final row of X, which is allocated once and never copied.
"""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from directrank.data.columns import ReadOptions
from directrank.data.grouping import grouped
from directrank.data.groups import QueryGroups, as_groups
from directrank.errors import DataError, DataFormatError, check_choice
from directrank.features.statistics import fill_query_minimum
from directrank.files import letor_lines as lines
from directrank.files.letor_lines import FINE, LABEL, OVERFLOW, POWERS, copy_spans, exact_float32
from directrank.files.opening import Allocator, Block, rows_in_memory
from directrank.files.query_sizes import blocks_with_queries, check_beside
from directrank.files.words import named_queries
from directrank.storage.atomic import open_atomically

ENDINGS = (".txt", ".txt.gz", ".letor", ".svm", ".dat")
SHORTEST_VALUE = len("1:0\n")
# Short docids are copied as rows of code points. One long comment would make all these rows wide.
WIDEST_ROW = 64
# Text in NumPy's form takes at most so many times the letters that it holds; otherwise it becomes objects.
WIDEST_EXCESS = 4
LEAST_PRINTED = 32
SHOWN = 40
EXPECTED = {
    lines.LABEL: "expected a label: a finite number of 0 or more",
    lines.NEGATIVE: "expected a label of 0 or more",
    lines.NO_QID: "expected qid:<query>, or beside the file one called like it and .query (train.txt.query) "
    "with the number of documents of each query on a line, as LightGBM reads it",
    lines.EMPTY_QID: "expected a query after qid:",
    lines.FEATURE: "expected <feature id>:<number> with an id of 1 or more",
    lines.ZERO_ID: "expected an id of 1 or more: feature ids count from 1; a file that counts from 0 is read "
    "by --first-feature 0 of `fit`, `rank` and `convert`, which writes a store (in Python, first_feature=0)",
    lines.BIG_ID: f"expected a feature id of at most {lines.LARGEST_ID}",
    lines.REPEATED_ID: "expected an id above the one before: this feature has a value already",
    lines.UNSORTED_ID: "expected an id above the one before: ids ascend within a line",
    lines.BEYOND: "expected a feature id of at most n_features={n_features}",
    lines.VALUE: "expected a finite decimal number",
    lines.MISSING: "expected a number; give missing='nan' (methods take missing values), missing='query_min' "
    "(the least value within the query) or missing=<number>",
    lines.OVERFLOW: "expected a number that fits float32 (at most 3.4e38)",
    lines.FOREIGN_ROW: "expected the end: the file changed while it was read",
}


def read_letor(
    path: str | os.PathLike,
    *,
    missing: str | float | None = None,
    n_features: int | None = None,
    labelled: bool = True,
    first_feature: int = 1,
) -> QueryGroups:
    """Read a file of lines ``label qid:query id:value … # comment``.

    Features that a line does not name are 0. The comment becomes the docid: D of ``# docid = D …``, or else
    its whole text. Empty lines and lines with only a comment are skipped. The file may be gzipped. Values are
    the float32 nearest to the decimals.

    Parameters
    ----------
    path : path-like
    missing : {"nan", "error", "query_min"} or float, optional
        How a literal ``NULL`` or ``nan`` is read, and the largest float64, which is Istella's mark: as NaN,
        which every method takes and is the default; as an error; as the least value of the feature within
        the query (0 if there is none); or as a number.
    n_features : int, optional
        Number of columns of X; a larger id is refused. As far as the largest id of the file by default.
    labelled : bool, default=True
        Whether labels are grades. Otherwise they are ignored, and a line may begin with ``qid:``.
    first_feature : {0, 1}, default=1
        The id of the feature in the first column.

    Returns
    -------
    QueryGroups
        With the qid as int64 if all are plain integers of that range, else as text.

    Raises
    ------
    DataFormatError
        If a line is malformed: names the first one, the column, the text found and the text expected.
    DataError
        If X would not fit in memory.

    Examples
    --------
    >>> groups = read_letor("Fold1/train.txt")  # doctest: +SKIP
    """
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features={n_features}, expected at least 1")
    how = ReadOptions(missing=missing, n_features=n_features, labelled=labelled, first_feature=first_feature)
    files = LetorFiles([Path(path)], how)
    return files.fill(files.features)


class LetorFiles:
    """LETOR files that form one data set, after the first pass over them.

    `features` is as large as the largest id, unless the options name it; `qid` has queries in order of
    appearance. An error names the first malformed line, even if only the second pass would find its fault.
    """

    def __init__(self, paths: Sequence[Path], how: ReadOptions):
        first_feature = 1 if how.first_number is None else how.first_number
        check_choice("first_feature", first_feature, (0, 1))
        self._paths, self._how, self._null, self.reading = paths, how, how.null(), how.record()
        self._first_feature = np.uint64(first_feature)
        self._n_rows, self._largest, self._commented = 0, 0, False
        self._numbers: dict[bytes, int] = {}
        codes, labels, docids = [], [], []
        try:
            for path in paths:
                before = self._n_rows
                for block in blocks_with_queries(path, how.digests):
                    for column, values in zip((codes, labels, docids), self._heads(block), strict=True):
                        column.append(values)
                if self._n_rows == before:
                    problem = "holds no document, expected lines of 'label qid:query id:value …'"
                    raise DataFormatError(str(path), 0, 0, problem)
                check_beside(path, np.concatenate(codes)[before:])
        except DataFormatError as error:
            self._refuse_earlier(error)
            raise
        self._codes, self._labels = np.concatenate(codes), np.concatenate(labels)
        self._docid = _all_docids(docids) if self._commented else None
        self.qid = named_queries(map(bytes.decode, self._numbers))
        del self._numbers
        self.features = how.n_features or self._largest
        if how.counts_fit and how.first_number is None and self._largest != self.features:
            raise DataError(
                f"{self.name}: {self._largest} features, and the model has {self.features}; if it was "
                "trained on a file whose features count from 0 add --first-feature 0 (in Python, "
                "first_feature=0), if the last features are only left out here --first-feature 1"
            )

    @property
    def name(self) -> str:
        """The files' names, for messages."""
        return " + ".join(map(str, self._paths))

    def fill(self, features: int, allocate: Allocator = rows_in_memory) -> QueryGroups:
        """Make the second pass, into so many columns of the zeros that `allocate` returns."""
        X = (
            allocate(self.name, self._n_rows, features)
            if features
            else np.zeros((self._n_rows, 0), np.float32)
        )
        labels = self._labels if self._how.labelled else np.zeros(self._n_rows)
        queries = grouped(self._codes, self.qid, labels, self._docid, self.name)
        places = queries.inner
        n_rows, n_values, n_null = 0, 0, 0
        for path in self._paths:
            for block in blocks_with_queries(path, self._how.digests):
                rows, values, nulls = self._fill_block(block, places[n_rows:], X)
                n_rows, n_values, n_null = n_rows + rows, n_values + values, n_null + nulls
        if n_rows != self._n_rows:
            raise DataFormatError(self.name, 0, 0, "the file changed while it was read; read it again")
        if not features and self._how.features != ():
            problem = "no line has a feature, expected id:value after the qid"
            if self._docid is not None:
                problem += "; `directrank evaluate` and `convert --qrels` read it as judgments"
            raise DataFormatError(self.name, 0, 0, problem)
        n_left_out = n_rows * (features - 1 + int(self._first_feature)) - n_values
        if n_left_out and self._how.left_out_are_missing:
            warnings.warn(
                f"{self.name}: values that lines leave out ({n_left_out}) are read as 0; XGBoost's own "
                "reader of text takes them as missing: if the model was trained so, write each as ID:nan",
                stacklevel=4,
            )
        if features and not self._first_feature and not X[:, 0].any():
            warnings.warn(
                f"{self.name}: features count from 0 (as in training, or by --first-feature 0; in Python, "
                "first_feature=0), and no line has a value of feature 0: if they count from 1, each is read "
                "as another; count from the same number in all files",
                UserWarning,
                stacklevel=4,
            )
        if n_null and self._how.missing_rule == "query_min":
            fill_query_minimum(X, queries.indptr)
        return QueryGroups.from_inner(
            X, queries, name=self.name, labelled=self._how.labelled, reading=self.reading
        )

    def _heads(self, block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return query, label and docid of the rows of a block; raise its first fault of this pass."""
        n_lines = len(block.starts)
        places, labels = np.empty(n_lines, np.int64), np.empty(n_lines)
        qids, fresh = np.empty((n_lines, 2), np.int64), np.empty(n_lines, np.bool_)
        n_rows, largest, code, offset = lines.scan_heads(
            block.bytes, block.starts, block.ends, self._how.labelled, self._first_feature,
            places, labels, qids, fresh,
        )  # fmt: skip
        # Labels that need an exact reader.
        for row in np.flatnonzero(np.isnan(labels[:n_rows])):
            labels[row] = float(block.token(block.first_letter(places[row])))
            if not np.isfinite(labels[row]):
                n_rows, code, offset = int(row), LABEL, block.first_letter(places[row])
                break
        codes = self._query_numbers(block, qids[:n_rows], fresh[:n_rows])
        if code != FINE:
            raise _fault(block, code, int(offset))
        self._n_rows += int(n_rows)
        self._largest = max(self._largest, int(largest))
        return codes, labels[:n_rows], self._docids(block, places[:n_rows])

    def _query_numbers(self, block: Block, qids: np.ndarray, fresh: np.ndarray) -> np.ndarray:
        """Return the query of each row, by first appearance; `fresh` marks those that begin a query."""
        first = np.flatnonzero(fresh)
        numbers = np.empty(len(first), np.int64)
        for run, (start, end) in enumerate(qids[first].tolist()):
            token = block.bytes[start:end].tobytes()
            if token not in self._numbers:
                _check_text(block, start, token)
                self._numbers[token] = len(self._numbers)
            numbers[run] = self._numbers[token]
        return np.repeat(numbers, np.diff(np.append(first, len(fresh))))

    def _docids(self, block: Block, places: np.ndarray) -> np.ndarray:
        spans = np.empty((len(places), 2), np.int64)
        widest, ascii_only = lines.docid_spans(block.bytes, block.ends[places], block.stops[places], spans)
        self._commented = self._commented or widest > 0
        if ascii_only and widest <= WIDEST_ROW and widest * len(places) <= WIDEST_EXCESS * len(block.bytes):
            letters = np.zeros((len(places), max(widest, 1)), np.uint32)
            copy_spans(block.bytes, spans, letters)
            return letters.view(f"U{letters.shape[1]}")[:, 0]
        texts = np.empty(len(places), object)
        for row, (start, end) in enumerate(spans):
            texts[row] = block.bytes[start:end].tobytes().decode("utf-8", "backslashreplace")
        return texts

    def _fill_block(self, block: Block, places: np.ndarray, X: np.ndarray) -> tuple[int, int, int]:
        """Read the features of a block; return the numbers of its rows, values and missing values."""
        unsure = np.empty((len(block.bytes) // SHORTEST_VALUE + 1, 3), np.int64)
        rows, values, nulls, n_unsure, code, offset = lines.fill_rows(
            block.bytes, self._how.labelled, self._first_feature, places, X,
            self._how.n_features is not None and not self._how.skips_beyond, self._null, POWERS, unsure,
        )  # fmt: skip
        # Each of these values is before the fault, if there is one.
        for place, row, column in unsure[:n_unsure].tolist():
            value = exact_float32(block.token(place))
            if np.isinf(value):
                raise _fault(block, OVERFLOW, place)
            if column < X.shape[1]:
                X[row, column] = value
        if code != FINE:
            raise _fault(block, code, int(offset), X.shape[1])
        return int(rows), int(values), int(nulls)

    def _refuse_earlier(self, error: DataFormatError) -> None:
        """Raise the first fault that the second pass would find in the lines before an error, if any."""
        X = np.zeros((1, self._how.n_features or 0), np.float32)
        for path in self._paths:
            here = str(path) == error.path
            for block in blocks_with_queries(path, self._how.digests):
                # A fault of line 0 is one of the whole file.
                n_lines = len(block.starts)
                n_read = error.line - block.first_line if here and error.line else n_lines + 1
                part = block.until(min(n_read, n_lines))
                self._fill_block(part, np.zeros(len(part.bytes), np.int64), X)
                if n_read <= n_lines:
                    return
            if here:
                return


def _fault(block: Block, code: int, offset: int, n_features: int = 0) -> DataFormatError:
    """Return the error for a fault: the text found at an offset of a block, and the text expected."""
    text = ascii(block.token(offset))
    cell = text if len(text) <= SHOWN else f"{text[:SHOWN]}…'"
    if text == "''":
        cell = "the end of the line's data"
    words = block.bytes[offset:].tobytes().partition(b"\n")[0].split()
    ranks = code == lines.LABEL and len(words) in (4, 6) and b":" not in words[1]  # Of qrels and TREC runs
    advice = "; qrels and runs have no features: `directrank evaluate` reads them" if ranks else ""
    return block.error(offset, f"found {cell}, {EXPECTED[code].format(n_features=n_features)}{advice}")


def _check_text(block: Block, offset: int, token: bytes) -> None:
    control = next((place for place, byte in enumerate(token) if byte < LEAST_PRINTED), None)
    if control is not None:
        raise block.error(offset + control, "the qid holds a control character")
    try:
        token.decode()
    except UnicodeDecodeError as error:
        raise block.error(offset + error.start, "the qid holds bytes that are not UTF-8 text") from None


def _all_docids(parts: list[np.ndarray]) -> np.ndarray:
    """Return all docids in one array; rows of code points only if they are about equally wide."""
    widest = max(part.dtype.itemsize for part in parts)
    if widest * sum(map(len, parts)) > WIDEST_EXCESS * sum(part.nbytes for part in parts):
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def write_letor(groups: QueryGroups, path: str | os.PathLike) -> None:
    """Write documents as lines ``label qid:query 1:value 2:value … #docid = D``, in the caller's row order.

    Every feature is written, as the shortest decimal that reads back as the same float32, or as NULL if it is
    missing. The file appears under its name only when it is complete.

    Parameters
    ----------
    groups : QueryGroups
        A qid must be text without blanks or ``#`` once it is printed; a docid must be one line.
    path : path-like

    Raises
    ------
    DataError
        If a qid or docid would not read back.
    """
    groups = as_groups(groups, "write_letor")
    for column in groups.categories:
        raise DataError(f"column {column!r} is categorical, and LETOR text holds numbers; leave it out")
    queries = groups.queries
    qids, starts = [*map(_qid_text, queries.qid.tolist())], [f"{k + 1}:" for k in range(groups.n_features)]
    tails = [""] * groups.n_docs if groups.docid is None else [*map(_comment, groups.docid.tolist())]
    query = queries.query
    with open_atomically(path) as file:
        for row, tail in zip(queries.inner.tolist(), tails, strict=True):
            head = f"{_label_text(queries.relevance[row].item())} qid:{qids[query[row]]}"
            values = zip(starts, groups.features[row], strict=True)
            features = " ".join(start + _feature_text(value) for start, value in values)
            file.write(f"{head} {features}{tail}\n".encode())


def _feature_text(value: np.float32) -> str:
    if np.isnan(value):
        return "NULL"
    # NumPy finds the shortest decimal of a float32; Python prints large numbers without an exponent.
    return repr(float(str(value))).removesuffix(".0")


def _label_text(value: float) -> str:
    return str(int(value)) if value == int(value) and value < 2**53 else repr(value)


def _qid_text(name) -> str:
    text = str(name, "utf-8") if isinstance(name, bytes) else str(name)
    if not text or any(letter in text for letter in " \t\n\r\0#"):
        raise DataError(f"qid {text!r} cannot be written: expected text without blanks, line ends or '#'")
    return text


def _comment(name) -> str:
    text = str(name)
    if text != text.strip(" \t") or any(letter in text for letter in "\n\r\0"):
        raise DataError(f"docid {text!r} cannot be written: expected one line without blanks at its ends")
    if not text:
        return ""
    has_blanks = " " in text or "\t" in text
    if has_blanks and text.startswith("docid"):
        raise DataError(f"docid {text!r} cannot be written: it would read back as its own name")
    return f" # {text}" if has_blanks else f" #docid = {text}"
