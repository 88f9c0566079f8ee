"""Scores as text: write one score a line or a TREC run; read one score a line."""

from pathlib import Path

import numpy as np

from directrank.data import QueryGroups
from directrank.data.trec.text_lines import numbered_lines
from directrank.errors import DataError, DataFormatError


def scores_text(groups: QueryGroups, scores: np.ndarray, tag: str) -> str:
    """Return one score a line, in row order, each with all digits."""
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
    first = [(name.split() or [name])[0] for name in names]
    query = groups.to_caller(np.repeat(np.arange(groups.n_queries), groups.queries.sizes)).tolist()
    return first if len(set(zip(query, first, strict=True))) == len(names) else names


def trec_text(groups: QueryGroups, scores: np.ndarray, tag: str) -> str:
    """Return a TREC run: ``qid Q0 docid rank score tag``, queries in order of appearance.

    Documents are sorted by descending score; documents with equal scores stay in row order. Names are those
    of `document_words`.

    Raises
    ------
    DataError
        If a docid or qid is not one word: the format has no quotes.
    """
    qid = _words(list(map(str, groups.qid.tolist())), "qid")
    docid = _words(document_words(groups), "docid")
    lines = []
    for place in range(groups.n_queries):
        first, last = groups.queries.indptr[place : place + 2]
        rows = np.sort(groups.queries.row[first:last])
        for rank, row in enumerate(rows[np.argsort(-scores[rows], kind="stable")].tolist(), 1):
            lines.append(f"{qid[row]} Q0 {docid[row]} {rank} {float(scores[row])!r} {tag}\n")
    return "".join(lines)


def _words(words: list[str], what: str) -> list[str]:
    for row, word in enumerate(words):
        if len(word.split()) != 1:
            raise DataError(
                f"{what} {word!r} of document {row + 1} is not one word, which a TREC run needs; "
                "use --format scores"
            )
    return words


def read_scores(path: Path, expected: int, data: str) -> np.ndarray:
    """Read one score a line.

    Parameters
    ----------
    path : Path
    expected : int
        Number of documents.
    data : str
        Source of the documents, for messages.

    Raises
    ------
    DataFormatError
        If a line is not a number, or there are too few or too many scores.
    """
    scores, n_scores = np.empty(expected), 0
    for number, line in numbered_lines(path):
        try:
            score = float(line)
        except ValueError:
            raise DataFormatError(
                str(path), number, 1, f"found {line[:40]!r}, expected one score a line"
            ) from None
        if score != score:
            raise DataFormatError(str(path), number, 1, "the score is NaN; expected a number")
        if n_scores == expected:
            problem = f"one score too many: {data} has {expected} documents; expected one score a document"
            raise DataFormatError(str(path), number, 1, problem)
        scores[n_scores] = score
        n_scores += 1
    if n_scores < expected:
        problem = (
            f"holds {n_scores} scores, but {data} has {expected} documents; expected one score a document"
        )
        raise DataFormatError(str(path), 0, 0, problem)
    return scores
