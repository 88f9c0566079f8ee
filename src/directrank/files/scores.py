"""Scores in files: one per line, TREC runs, and tables of qid, docid, score and rank."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.data.cells import first_rounded
from directrank.data.columns import GUESSES, guessed
from directrank.data.groups import QueryGroups
from directrank.errors import DataError, DataFormatError
from directrank.files.opening import numbered_lines
from directrank.files.tables import arrow_table, delimited_text, parquet_bytes, table_of

__all__ = [
    "FORMATS",
    "ScoreFormat",
    "document_names",
    "document_words",
    "format_of_scores",
    "is_formula",
    "read_scores",
    "score_columns",
    "scores_text",
    "trec_text",
]


#: Documents of a run from which pyarrow, where it is installed, writes the lines.
MANY = 20_000
#: How a cell begins that spreadsheets run as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Lines that pyarrow joins at once.
PIECE = 2**18


class ScoreFormat(NamedTuple):
    """A format of scores: its name, the endings of files, whether it is text, and what writes it.

    `content` takes the documents, their scores in row order, and the tag of a TREC run.
    """

    name: str
    endings: tuple[str, ...]
    binary: bool
    content: Callable[[QueryGroups, np.ndarray, str], Any]


def scores_text(groups: QueryGroups, scores: np.ndarray, tag: str) -> str:
    """Return one score per line, in row order, each with all digits."""
    return "".join(f"{score!r}\n" for score in scores.tolist())


def document_names(groups: QueryGroups) -> np.ndarray:
    """Return the name of each document, in row order: its docid, or else its row number, from 1."""
    rows = np.arange(1, groups.n_docs + 1)
    docid = groups.docid
    if docid is None or docid.dtype.kind not in "OU":
        return rows if docid is None else docid
    unnamed = docid == ""
    return np.where(unnamed, rows.astype(str).astype(object), docid) if unnamed.any() else docid


def document_words(groups: QueryGroups) -> list[str]:
    """Return the name of each document as TREC runs have it: its first word, if these differ in every query.

    Elasticsearch LTR writes ``# 7555 rambo``, where the words after the first repeat the query.
    """
    names = [str(name) for name in document_names(groups).tolist()]
    if are_words(names):
        return names
    first = [(name.split() or [name])[0] for name in names]
    query = groups.to_caller(groups.queries.query).tolist()
    return first if len(set(zip(query, first, strict=True))) == len(names) else names


def trec_text(groups: QueryGroups, scores: np.ndarray, tag: str) -> str:
    """Return a TREC run: ``qid Q0 docid rank score tag``, queries in order of appearance.

    Documents are sorted by descending score; documents with equal scores stay in row order. Names are those
    of `document_words`. Raises DataError if a docid or qid is not one word, as the format has no quotes, or
    if a query has two documents of one name: its readers keep one of them, or refuse the file.
    """
    qids, names = list(map(str, groups.queries.qid.tolist())), document_names(groups)
    if not are_words(qids):
        _refuse_texts(list(map(str, groups.qid.tolist())), "qid")
    docid: Any = names
    if not are_plain_words(names):
        docid = document_words(groups)
        if not are_words(docid):
            _refuse_texts(docid, "docid")
    query = groups.to_caller(groups.queries.query)
    if groups.docid is not None:
        _refuse_repeated([str(name) for name in np.asarray(docid).tolist()], query, qids)
    order, ranks = _ranking(groups, scores)
    query, scores = query[order], np.asarray(scores, np.float64)[order]
    if len(order) >= MANY:
        try:
            return _joined(qids, query, docid, order, ranks, scores, tag)
        except ImportError:  # without pyarrow
            pass
    docid = names.tolist() if docid is names else docid
    columns = query.tolist(), order.tolist(), ranks.tolist(), scores.tolist()
    return "".join(
        f"{qids[place]} Q0 {docid[row]} {rank} {score!r} {tag}\n"
        for place, row, rank, score in zip(*columns, strict=True)
    )


def _joined(qids, query, docid, order, ranks, scores, tag: str) -> str:
    """Return the lines of a TREC run, by pyarrow; scores as Python writes them."""
    import pyarrow as pa
    import pyarrow.compute as functions

    compute: Any = functions
    if isinstance(docid, np.ndarray):  # plain words, without a loop over them
        letters = docid.view(np.uint32).reshape(len(docid), -1).astype(np.uint8)
        ends = np.append(0, np.cumsum(np.count_nonzero(letters, axis=1)))
        buffers = pa.py_buffer(ends), pa.py_buffer(letters[letters != 0])
        documents = pa.LargeStringArray.from_buffers(len(docid), *buffers)
    else:
        documents = pa.array(docid, pa.large_string())
    queries = pa.array(qids, pa.large_string())
    q0, end, blank = (pa.scalar(text, pa.large_string()) for text in ("Q0", f"{tag}\n", " "))
    texts = []
    for start in range(0, len(order), PIECE):
        piece = slice(start, start + PIECE)
        numbers = scores[piece]
        # pyarrow writes whole, small and large numbers in another way.
        size = np.abs(numbers)
        alike = (size >= 1e-4) & (size < 1e9) & (numbers != np.rint(numbers))
        others = pa.array([repr(score) for score in numbers[~alike].tolist()], pa.large_string())
        written = compute.cast(pa.array(numbers), pa.large_string())
        lines = compute.binary_join_element_wise(
            queries.take(pa.array(query[piece])),
            q0,
            documents.take(pa.array(order[piece])),
            compute.cast(pa.array(ranks[piece]), pa.large_string()),
            compute.replace_with_mask(written, pa.array(~alike), others),
            end,
            blank,
        )
        ends, text = lines.buffers()[1:]
        texts.append(str(memoryview(text)[: np.frombuffer(ends, np.int64)[len(lines)]], "utf-8"))
    return "".join(texts)


def are_plain_words(names: np.ndarray) -> bool:
    """Whether each name is a word of printable ASCII, in NumPy's form of texts."""
    if names.dtype.kind != "U" or not names.size or not names.dtype.itemsize:
        return False
    letters = np.ascontiguousarray(names).view(np.uint32).reshape(len(names), -1)
    largest, is_end = int(letters.max()), letters == 0
    if largest >= 127 or is_end[:, 0].any():
        return False
    return not (is_end[:, :-1] & ~is_end[:, 1:]).any() and not ((letters <= 32) & ~is_end).any()


def are_words(texts: list[str]) -> bool:
    """Whether each text is one word, without blanks."""
    return " ".join(texts).split() == texts


def _ranking(groups: QueryGroups, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows query by query as they are ranked, and their ranks in the query, from 1."""
    query = groups.to_caller(groups.queries.query)
    steps = np.diff(query)
    if ((steps > 0) | ((steps == 0) & (scores[1:] <= scores[:-1]))).all():
        return np.arange(len(query)), groups.queries.place + 1
    return np.lexsort((-scores, query)), groups.queries.place + 1


def _refuse_texts(texts: list[str], what: str) -> None:
    row = next(row for row, text in enumerate(texts) if len(text.split()) != 1)
    raise DataError(
        f"{what} {texts[row]!r} of document {row + 1} is not one word, which a TREC run needs; "
        "a table takes it: name a file that ends in .csv, without --format trec"
    )


def _refuse_repeated(names: list[str], query: np.ndarray, qids: list[str]) -> None:
    first: dict[str, int] = {}
    firsts = np.array([first.setdefault(name, row) for row, name in enumerate(names)], np.int64)
    if len(first) == len(names):
        return
    pairs = query.astype(np.int64) * len(names) + firsts
    order = np.argsort(pairs, kind="stable")
    repeated = order[1:][pairs[order[1:]] == pairs[order[:-1]]]
    if len(repeated):
        row = int(repeated.min())
        again = f"query {qids[query[row]]} has document {names[row]!r} a second time in row {row + 1}"
        raise DataError(f"{again}, and a TREC run lists each once; remove one of them, or use --format csv")


def score_columns(groups: QueryGroups, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns qid, docid, score and rank, in row order.

    The rank counts from 1 within the query; documents with equal scores are ranked in row order. The row
    number, from 1, replaces a missing docid.
    """
    order, ranks = _ranking(groups, scores)
    rank = np.empty_like(order)
    rank[order] = ranks
    return {
        "qid": groups.qid,
        "docid": document_names(groups),
        "score": np.asarray(scores, np.float64),
        "rank": rank,
    }


def _delimited(groups: QueryGroups, scores: np.ndarray, tag: str, *, separator: str) -> str:
    return delimited_text(score_columns(groups, scores), separator)


def is_formula(name: object) -> bool:
    """Whether a spreadsheet would run a cell as a formula."""
    return isinstance(name, str) and name.startswith(FORMULA)


def _spreadsheet(groups: QueryGroups, scores: np.ndarray, tag: str) -> str:
    columns = score_columns(groups, scores)
    for column in ("qid", "docid"):
        names = columns[column].tolist()
        columns[column] = np.array([f"'{name}" if is_formula(name) else name for name in names], object)
    return delimited_text(columns)


def _parquet(groups: QueryGroups, scores: np.ndarray, tag: str) -> bytes:
    return parquet_bytes(score_columns(groups, scores), "scores")


def _arrow(groups: QueryGroups, scores: np.ndarray, tag: str) -> bytes:
    table, file = arrow_table(score_columns(groups, scores), "scores"), io.BytesIO()
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
    ScoreFormat("spreadsheet", (), False, _spreadsheet),
    ScoreFormat("parquet", (".parquet", ".pq"), True, _parquet),
    ScoreFormat("arrow", (".arrow", ".feather", ".ipc"), True, _arrow),
)


def format_of_scores(name: str | None, path: Path | None) -> ScoreFormat:
    """Return the format of this name, or else the one that the ending of a file belongs to.

    Raises ValueError if no format has the name.
    """
    if name is not None:
        matches = [form for form in FORMATS if form.name == name]
        if not matches:
            raise ValueError(f"expected {', '.join(form.name for form in FORMATS)}")
        return matches[0]
    ending = "" if path is None else path.name.lower()
    return next((form for form in FORMATS if ending.endswith(form.endings)), FORMATS[0])


def read_scores(path: Path, expected: int, data: str) -> np.ndarray:
    """Read one score per line, below a name of the column if there is one.

    `data` is the source of the documents, for messages.

    Raises DataFormatError if a line is not a number, or there are too few or too many scores.
    """
    scores, n_scores = np.empty(expected), 0
    for number, line in numbered_lines(path):
        try:
            score = float(line)
        except ValueError:
            if number == 1 and (table_of(path) is not None or guessed(GUESSES["score"], [line])):
                continue
            raise DataFormatError(
                str(path), number, 1, f"found {line[:40]!r}, expected one score per line"
            ) from None
        if score != score:
            raise DataFormatError(str(path), number, 1, "the score is NaN; expected a number")
        is_whole = abs(score) >= 2**53 and line.strip().lstrip("+-").isdecimal()
        if is_whole and (wrong := first_rounded(np.array([int(line)], object))):
            raise DataFormatError(str(path), number, 1, f"found {wrong[1]}")
        if n_scores == expected:
            problem = f"one score too many: {data} has {expected} documents; expected one score per document"
            raise DataFormatError(str(path), number, 1, problem)
        scores[n_scores] = score
        n_scores += 1
    if n_scores < expected:
        problem = (
            f"holds {n_scores} scores, but {data} has {expected} documents; expected one score per document"
        )
        raise DataFormatError(str(path), 0, 0, problem)
    return scores
