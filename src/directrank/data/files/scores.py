"""Formats in which scores are written: text, TREC runs, and tables of qid, docid, score and rank."""

import csv
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.data.files.tables.format import import_pyarrow
from directrank.data.groups import QueryGroups
from directrank.data.trec.runs import document_names, scores_text, trec_text


class ScoreFormat(NamedTuple):
    """A format of scores: its name, the endings of files, whether it is text, and what writes it.

    `content` takes the documents, their scores in row order, and the tag of a TREC run.
    """

    name: str
    endings: tuple[str, ...]
    binary: bool
    content: Callable[[QueryGroups, np.ndarray, str], Any]


def score_columns(groups: QueryGroups, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns qid, docid, score and rank, in row order.

    The rank counts from 1 within the query; documents with equal scores are ranked in row order. The row
    number, from 1, replaces a missing docid.
    """
    query = groups.to_caller(np.repeat(np.arange(groups.n_queries), groups.queries.sizes))
    order = np.lexsort((-scores, query))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order)) - groups.queries.indptr[query[order]] + 1
    return {
        "qid": groups.qid,
        "docid": document_names(groups),
        "score": np.asarray(scores, np.float64),
        "rank": rank,
    }


def _delimited(groups: QueryGroups, scores: np.ndarray, tag: str, *, separator: str) -> str:
    columns = score_columns(groups, scores)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    return text.getvalue()


def _table(groups: QueryGroups, scores: np.ndarray) -> Any:
    columns = score_columns(groups, scores)
    pa = import_pyarrow("scores")
    return pa.table(
        {name: values.tolist() if values.dtype == object else values for name, values in columns.items()}
    )


def _parquet(groups: QueryGroups, scores: np.ndarray, tag: str) -> bytes:
    table, file = _table(groups, scores), io.BytesIO()
    from pyarrow import parquet

    parquet.write_table(table, file)
    return file.getvalue()


def _arrow(groups: QueryGroups, scores: np.ndarray, tag: str) -> bytes:
    table, file = _table(groups, scores), io.BytesIO()
    from pyarrow import ipc

    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


#: Every format of scores, the default first.
FORMATS = (
    ScoreFormat("scores", (".txt",), False, scores_text),
    ScoreFormat("trec", (".run", ".trec"), False, trec_text),
    ScoreFormat("csv", (".csv",), False, partial(_delimited, separator=",")),
    ScoreFormat("tsv", (".tsv",), False, partial(_delimited, separator="\t")),
    ScoreFormat("parquet", (".parquet", ".pq"), True, _parquet),
    ScoreFormat("arrow", (".arrow", ".feather", ".ipc"), True, _arrow),
)


def format_of_scores(name: str | None, path: Path | None) -> ScoreFormat:
    """Return the format of this name, or else the one that the ending of a file belongs to.

    Raises
    ------
    ValueError
        If no format has the name.
    """
    if name is not None:
        found = [each for each in FORMATS if each.name == name]
        if not found:
            raise ValueError(f"expected {', '.join(each.name for each in FORMATS)}")
        return found[0]
    ending = "" if path is None else path.name.lower()
    return next((each for each in FORMATS if ending.endswith(each.endings)), FORMATS[0])
