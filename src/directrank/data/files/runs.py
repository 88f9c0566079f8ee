"""Read tables of scores, as `directrank rank` writes them, as TREC runs."""

from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.files.formats import table_of
from directrank.data.files.options import ReadOptions
from directrank.data.files.tables.cells import Place, numbers, texts
from directrank.data.files.tables.columns import choose_columns, known_column
from directrank.data.files.tables.format import NO_DOCUMENT, import_pyarrow
from directrank.data.letor.blocks import Block
from directrank.data.trec.retrieved import DOCUMENT, QUERY, Run
from directrank.data.trec.words import Rows
from directrank.errors import DataError

SCORE = "score"


def read_run_table(path: Path) -> Run:
    """Read a table with the columns qid, docid and score; any other column is not read.

    Raises
    ------
    DataError
        If a column is missing, or a cell cannot be used: names file, column, row and remedy.
    """
    table = table_of(path)
    assert table is not None
    pa, schema = import_pyarrow(path), table.schema(path)
    known_column(SCORE, schema.names, str(path), ", which a table of scores has")
    columns = choose_columns(schema, ReadOptions(labelled=False, features=()), str(path))
    if columns.docid is None:
        raise DataError(f"{path}: a table of scores needs the name of each document: call its column docid")
    named = {columns.qid: pa.string(), columns.docid: pa.string(), SCORE: pa.float64()}
    words, scores = ([], []), []
    for batch in table.batches(path, named):
        place = Place(path, len(scores))
        for column, found in zip((columns.qid, columns.docid), words, strict=True):
            found += texts(batch.column(column)).fill_null("").to_pylist()
        scores += _scores(batch, place).tolist()
    if not scores:
        raise DataError(f"{path}: {NO_DOCUMENT}")
    return Run(path, _rows(path, *words), np.array(scores))


def _scores(batch: Any, place: Place) -> np.ndarray:
    values = numbers(batch, SCORE, np.float64, place, "a score: a finite number")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        found = f"found {values[wrong[0]]:g}"
        raise place.error(SCORE, int(wrong[0]), f"{found}, expected a score: a finite number")
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
