"""Read tables in two passes: relevance and queries first, then each row of features to its final place."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from directrank.data.cells import Place, first_text, missing_row, numbers, shown, texts
from directrank.data.files.options import ReadOptions
from directrank.data.files.tables.columns import Columns, choose_columns, refuse_second_label
from directrank.data.files.tables.features import fill_features
from directrank.data.files.tables.format import NO_DOCUMENT, TableFormat, import_pyarrow
from directrank.data.grouping import first_bad_float, log_if_apart, sorted_order, whole_numbers
from directrank.data.groups import QueryGroups
from directrank.data.letor.blocks import plain_file
from directrank.data.letor.reader import null_value
from directrank.data.letor.scan import named_queries
from directrank.data.letor.second_pass import fill_query_minimum
from directrank.data.memory import Allocator, rows_in_memory
from directrank.data.queries import Queries
from directrank.errors import DataError

#: The name of the query of a table without a column of queries.
ONLY_QUERY = 1


class TableFiles:
    """Tables that form one data set, after the first pass over them.

    Attributes
    ----------
    features : tuple of str
        The columns of features.
    qid : ndarray of shape (n_queries,)
        In order of appearance.
    """

    def __init__(self, table: TableFormat, paths: Sequence[Path], how: ReadOptions):
        self._table, self._paths, self._how = table, paths, how
        self._null = null_value(how.missing)
        self._schemas = [table.schema(path) for path in paths]
        chosen = [
            choose_columns(schema.names, how, str(path))
            for path, schema in zip(paths, self._schemas, strict=True)
        ]
        self.features = chosen[0].features
        logging.getLogger("directrank").info("%s: %s", paths[0], chosen[0].line())
        heads = [
            _Heads(table, path, columns, how.labelled) for path, columns in zip(paths, chosen, strict=True)
        ]
        for path, columns in zip(paths, chosen, strict=True):
            refuse_second_label(columns, how, str(path))
        self._codes, self.qid = _numbered([values for head in heads for values in head.qid])
        self._labels = np.concatenate([values for head in heads for values in head.labels])
        named = all(columns.docid is not None for columns in chosen)
        self._docid = np.concatenate([values for head in heads for values in head.docid]) if named else None

    @property
    def name(self) -> str:
        """The files' names, for messages."""
        return " + ".join(map(str, self._paths))

    def fill(self, features: Sequence[str], allocate: Allocator = rows_in_memory) -> QueryGroups:
        """Make the second pass, which reads the columns of these features.

        Raises
        ------
        DataError
            If a column is missing or holds a cell that cannot be used, or X would not fit in memory.
        """
        X = allocate(self.name, len(self._codes), len(features))
        log_if_apart(self._codes, self.qid, self.name)
        order, indptr = sorted_order(self._codes, self._labels, len(self.qid))
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        self._fill(X, places, features)
        if self._how.missing == "query_min":
            fill_query_minimum(X, indptr)
        docid = None if self._docid is None else self._docid[order]
        queries = Queries(self._labels[order], indptr, order, self.qid, docid)
        return QueryGroups.from_inner(
            X, queries, feature_names=features, name=self.name, labelled=self._how.labelled
        )

    def _fill(self, X: np.ndarray, places: np.ndarray, features: Sequence[str]) -> None:
        done = 0
        for path, schema in zip(self._paths, self._schemas, strict=True) if features else ():
            done += fill_features(self._table, path, schema, features, places[done:], X, self._null)
            _read_to_the_end(path, self._how)
        if features and done != len(places):
            raise DataError(f"{self.name}: the file changed while it was read; read it again")


def _read_to_the_end(path: Path, how: ReadOptions) -> None:
    """Let the function that opens files see all bytes of a table, which pyarrow reads out of order."""
    if how.open_file is not plain_file:
        with how.open_file(path) as file:
            while file.read(1 << 20):
                pass


class _Heads:
    """Queries, relevance and names of the documents of one file, batch by batch."""

    def __init__(self, table: TableFormat, path: Path, columns: Columns, labelled: bool):
        pa = import_pyarrow(path)
        self.qid, self.labels, self.docid = [], [], []
        label = columns.label if labelled else None
        kinds = ((columns.qid, pa.string()), (label, pa.float64()), (columns.docid, pa.string()))
        n_rows = 0
        for batch in table.batches(path, {name: kind for name, kind in kinds if name is not None}):
            place = Place(path, n_rows)
            self.qid.append(pa.nulls(len(batch)) if columns.qid is None else _qid(batch, columns.qid, place))
            self.labels.append(np.zeros(len(batch)) if label is None else _labels(batch, label, place))
            if columns.docid is not None:
                names = texts(batch.column(columns.docid)).fill_null("")
                self.docid.append(names.to_numpy(zero_copy_only=False))
            n_rows += len(batch)
        if not n_rows:
            raise DataError(f"{path}: {NO_DOCUMENT}")


def _qid(batch: Any, column: str, place: Place) -> Any:
    from pyarrow import types

    values = batch.column(column)
    if types.is_nested(values.type):
        raise place.error(column, 0, f"holds {values.type}, expected the number or name of a query")
    row = missing_row(values)
    if row is not None:
        raise place.error(column, row, "has no value; give every document its query")
    if types.is_floating(values.type):
        ids = values.to_numpy().astype(np.float64)
        if (wrong := first_bad_float(ids)) is not None:
            raise place.error(column, *wrong)
    return values


def _labels(batch: Any, column: str, place: Place) -> np.ndarray:
    values = numbers(batch.column(column), np.float64)
    if values is None:
        row, cell = first_text(batch.column(column).to_pylist()) or (0, batch.column(column).type)
        problem = f"found {shown(cell)}, expected a grade: replace words by 0, 1, 2, …, the best highest"
        raise place.error(column, row, problem)
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        value = values[wrong[0]]
        found = "has no value" if np.isnan(value) else f"found {value:g}"
        raise place.error(column, int(wrong[0]), f"{found}, expected relevance: a finite grade of 0 or more")
    return values


def _numbered(batches: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Number queries by first appearance; names that are plain integers become integers, as in LETOR text."""
    import pyarrow as pa

    if pa.types.is_null(batches[0].type):  # There is no column of queries.
        return np.zeros(sum(map(len, batches)), np.int64), np.array([ONLY_QUERY])
    if len({values.type for values in batches}) > 1 or pa.types.is_dictionary(batches[0].type):
        batches = [texts(values) for values in batches]
    coded = pa.concat_arrays(batches).dictionary_encode()
    names = coded.dictionary
    codes = coded.indices.to_numpy().astype(np.int64)
    if pa.types.is_integer(names.type) or pa.types.is_floating(names.type):
        found = whole_numbers(names.to_numpy())
        if found.dtype.kind != "f":
            return codes, found
    return codes, named_queries([str(name).encode() for name in names.to_pylist()])
