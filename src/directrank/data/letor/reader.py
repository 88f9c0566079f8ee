"""Read LETOR and SVMlight text.

A file is read twice. The first pass reads labels, queries and the largest feature id. The second pass can
then write each row directly to its final row of X, which is allocated once and never copied.
"""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from directrank.data.grouping import log_if_apart, sorted_order
from directrank.data.groups import QueryGroups
from directrank.data.letor.blocks import Block, Opener, plain_file
from directrank.data.letor.exact import nearest_float32
from directrank.data.letor.faults import FINE, OVERFLOW, fault
from directrank.data.letor.numbers import POWERS
from directrank.data.letor.scan import Scan
from directrank.data.letor.second_pass import fill_query_minimum, fill_rows
from directrank.data.memory import Allocator, rows_in_memory
from directrank.data.queries import Queries
from directrank.errors import DataFormatError, check_choice

SHORTEST_VALUE = len("1:0\n")
#: Rules for missing values, beside numbers: they stay missing, are refused, or are the least of the query.
MISSING_RULES = ("nan", "error", "query_min")
#: The rule that holds unless another is given.
MISSING = MISSING_RULES[0]


def read_letor(
    path: str | os.PathLike,
    *,
    missing: str | float = MISSING,
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
    missing : {"nan", "error", "query_min"} or float, default="nan"
        How a literal ``NULL`` is read: as NaN, which every method takes; as an error; as the least value of
        the feature within the query (0 if there is none); or as a number.
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
    scan = scan_letor(
        [Path(path)],
        labelled=labelled, n_features=n_features, missing=missing, first_feature=first_feature,
    )  # fmt: skip
    return fill_letor(scan, n_features or scan.n_features, missing=missing, strict=n_features is not None)


def null_value(missing: str | float) -> np.float32:
    """Return the number for a missing value: NaN, which ``query_min`` replaces, or infinity if it is refused.

    Raises
    ------
    ValueError
        If `missing` is not one of the rules.
    """
    if isinstance(missing, str):
        if missing in MISSING_RULES:
            return np.float32(np.inf if missing == "error" else np.nan)
    elif math.isfinite(missing) and abs(missing) <= float(np.finfo(np.float32).max):
        return np.float32(missing)
    raise ValueError(f"missing={missing!r}, expected 'nan', 'error', 'query_min' or a finite number")


def scan_letor(
    paths: Sequence[Path],
    *,
    labelled: bool = True,
    n_features: int | None = None,
    missing: str | float = MISSING,
    first_feature: int = 1,
    open_file: Opener = plain_file,
) -> Scan:
    """Make the first pass over files that form one data set; `open_file` opens them for both passes.

    The error names the first malformed line, even if only the second pass would find its fault.
    """
    check_choice("first_feature", first_feature, (0, 1))
    scan = Scan(paths, labelled, first_feature, open_file)
    null = null_value(missing)
    try:
        for path in paths:
            before = scan.n_rows
            for block in scan.blocks_of(path):
                scan.add(block)
            if scan.n_rows == before:
                problem = "holds no document, expected lines of 'label qid:query id:value …'"
                raise DataFormatError(str(path), 0, 0, problem)
    except DataFormatError as error:
        _refuse_earlier(scan, error, n_features, null)
        raise
    return scan.finish()


def _refuse_earlier(scan: Scan, found: DataFormatError, n_features: int | None, null: np.float32) -> None:
    """Raise the first fault that the second pass would find in the lines before `found`, if any."""
    X = np.zeros((1, n_features or 0), np.float32)
    for path in scan.paths:
        here = str(path) == found.path
        for block in scan.blocks_of(path):
            # A fault of line 0 is one of the whole file.
            n_lines = len(block.starts)
            left = found.line - block.first_line if here and found.line else n_lines + 1
            part = block.until(min(left, n_lines))
            _fill_block(scan, part, np.zeros(len(part.bytes), np.int64), X, n_features is not None, null)
            if left <= n_lines:
                return
        if here:
            return


def fill_letor(
    scan: Scan,
    n_features: int,
    *,
    missing: str | float = MISSING,
    strict: bool = False,
    allocate: Allocator = rows_in_memory,
) -> QueryGroups:
    """Make the second pass, into `n_features` columns of the zeros that `allocate` returns."""
    X = allocate(scan.name, scan.n_rows, n_features)
    log_if_apart(scan.codes, scan.qid, scan.name)
    labels = scan.labels if scan.labelled else np.zeros(scan.n_rows)
    order, indptr = sorted_order(scan.codes, labels, len(scan.qid))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    n_null = _fill(scan, place, X, strict, null_value(missing))
    if not n_features:
        raise DataFormatError(scan.name, 0, 0, "no line has a feature, expected id:value after the qid")
    if n_null and missing == "query_min":
        fill_query_minimum(X, indptr)
    docid = None if scan.docid is None else scan.docid[order]
    queries = Queries(labels[order], indptr, order, scan.qid, docid)
    return QueryGroups.from_inner(X, queries, name=scan.name, labelled=scan.labelled)


def _fill(scan: Scan, place: np.ndarray, X: np.ndarray, strict: bool, null: np.float32) -> int:
    done, n_null = 0, 0
    for path in scan.paths:
        for block in scan.blocks_of(path):
            rows, nulls = _fill_block(scan, block, place[done:], X, strict, null)
            done, n_null = done + rows, n_null + nulls
    if done != scan.n_rows:
        raise DataFormatError(scan.name, 0, 0, "the file changed while it was read; read it again")
    return n_null


def _fill_block(scan: Scan, block: Block, places, X, strict, null) -> tuple[int, int]:
    unsure = np.empty((len(block.bytes) // SHORTEST_VALUE + 1, 3), np.int64)
    rows, nulls, n_unsure, code, fault_offset = fill_rows(
        block.bytes, scan.labelled, scan.first_feature, places, X, strict, null, POWERS, unsure
    )
    # Each of these values is before the fault, if there is one.
    for offset, row, column in unsure[:n_unsure].tolist():
        value = nearest_float32(block.token(offset))
        if np.isinf(value):
            raise fault(block, OVERFLOW, offset)
        if column < X.shape[1]:
            X[row, column] = value
    if code != FINE:
        raise fault(block, code, int(fault_offset), X.shape[1])
    return int(rows), int(nulls)
