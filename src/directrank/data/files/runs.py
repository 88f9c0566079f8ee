"""Tables, data frames and mappings of scores as TREC runs."""

import math
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.cells import Place, first_text, numbers, shown, texts
from directrank.data.files.formats import table_of
from directrank.data.files.options import ReadOptions
from directrank.data.files.tables.columns import choose_columns, known_column
from directrank.data.files.tables.format import NO_DOCUMENT, import_pyarrow
from directrank.data.grouping import qid_array, whole_numbers
from directrank.data.letor.blocks import Block
from directrank.data.trec.retrieved import DOCUMENT, QUERY, Run
from directrank.data.trec.words import Rows
from directrank.errors import DataError

SCORE = "score"
EXPECTED = "expected a score: a finite number"


def read_run_table(path: Path) -> Run:
    """Read a table with the columns qid, docid and score; any other column is not read.

    Raises
    ------
    DataError
        If a column is missing, or a cell cannot be used: names file, column, row and remedy.
    """
    table = table_of(path)
    assert table is not None
    pa = import_pyarrow(path)
    qid, docid = _named_columns(table.schema(path).names, str(path))
    words, scores = ([], []), []
    for batch in table.batches(path, {qid: pa.string(), docid: pa.string(), SCORE: pa.float64()}):
        place = Place(path, len(scores))
        for column, cells in zip((qid, docid), words, strict=True):
            cells += texts(batch.column(column)).fill_null("").to_pylist()
        scores += _scores(batch.column(SCORE), place).tolist()
    if not scores:
        raise DataError(f"{path}: {NO_DOCUMENT}")
    return run_of(words[0], words[1], scores, path)


def run_of_frame(frame: Any, name: str) -> Run:
    """Return the columns qid, docid and score of a data frame as a run.

    Raises
    ------
    DataError
        If a column is missing, or a score is not a finite number.
    """
    import narwhals as nw

    table = nw.from_native(frame, eager_only=True)
    qid, docid = _named_columns(table.columns, name)
    qids, docids, scores = (table.get_column(each).to_list() for each in (qid, docid, SCORE))
    return run_of(qids, docids, scores, Path(name))


def run_of(qids: Sequence[Any], docids: Sequence[Any], scores: Sequence[Any], path: Path) -> Run:
    """Return documents of queries with their scores as a run; `path` names it in messages.

    Raises
    ------
    DataError
        If a score is not a finite number.
    """
    for row, score in enumerate(scores):
        if not isinstance(score, Real) or not math.isfinite(score):
            raise Place(path, 0).error(SCORE, row, f"found {shown(score)}, {EXPECTED}")
    words = [list(map(str, whole_numbers(qid_array(names)).tolist())) for names in (qids, docids)]
    return Run(path, _rows(path, words[0], words[1]), np.array(scores, np.float64))


def _named_columns(names: Sequence[str], where: str) -> tuple[str, str]:
    """Return the columns of queries and of names of documents of a table of scores."""
    known_column(SCORE, names, where, ", which a table of scores has")
    columns = choose_columns(names, ReadOptions(labelled=False, features=()), where)
    if columns.docid is None:
        raise DataError(f"{where}: a table of scores needs the name of each document: call its column docid")
    return str(columns.qid), columns.docid


def _scores(cells: Any, place: Place) -> np.ndarray:
    values = numbers(cells, np.float64)
    if values is None:
        row, cell = first_text(cells.to_pylist()) or (0, cells.type)
        raise place.error(SCORE, row, f"found {shown(cell)}, {EXPECTED}")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise place.error(SCORE, int(wrong[0]), f"found {values[wrong[0]]:g}, {EXPECTED}")
    return values


def _rows(path: Path, qids: list[str], docids: list[str]) -> Rows:
    """Return queries and documents as the words of a run, each document in a line of its own."""
    lines = [(qid.encode(), docid.encode()) for qid, docid in zip(qids, docids, strict=True)]
    lengths = np.array([[len(qid), len(docid)] for qid, docid in lines])
    ends = (lengths + 1).cumsum().reshape(-1, 2) - 1
    words = np.zeros((len(lines), DOCUMENT + 1, 2), np.int64)
    for place, column in enumerate((QUERY, DOCUMENT)):
        words[:, column] = np.stack([ends[:, place] - lengths[:, place], ends[:, place]], axis=1)
    content = b"".join(b"%s %s\n" % line for line in lines)
    # The names of columns are line 1.
    return Rows(Block(path, np.frombuffer(content, np.uint8), 2), np.arange(1, len(lines) + 1), words)
