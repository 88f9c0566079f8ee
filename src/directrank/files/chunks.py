"""Chunks of documents in a run: their scores become one score for each document."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from directrank.data.columns import guessed
from directrank.errors import DataError, check_choice, listed
from directrank.files.runs import DOCUMENT, QUERY, Run, run_of
from directrank.files.tables import read_columns, table_columns, table_of
from directrank.files.words import quoted, text_of

#: The score of a document: the largest of its chunks, their sum, or that of the first chunk in the document.
RULES = ("max", "sum", "first")
#: What is often between the name of a document and the number of a chunk.
SEPARATORS = ("#", "::", "_", "-", ":", "/", "%", "@", ".")
#: Names of the columns of a table of chunks.
CHUNK_NAMES = ("chunk", "chunkid", "passage", "passageid", "pid")
DOCUMENT_NAMES = ("document", "documentid", "doc", "docid", "docno")


@dataclass(frozen=True)
class Chunks:
    """Which document a chunk is of, and the rule for its score.

    `parts` goes from the name of a chunk to its document and a key, which is the least of the first chunk.
    """

    parts: Callable[[str], tuple[str, Any]]
    rule: str

    @classmethod
    def of(cls, source: str | os.PathLike | Mapping[str, str], rule: str = "max") -> "Chunks":
        """Return chunks by a separator, such as ``#``, a table of chunk and document, or a mapping of them.

        Raises ValueError if the rule is none, DataError if the separator is empty, or the table has no such
        columns.
        """
        check_choice("chunk_score", rule, RULES)
        if isinstance(source, Mapping):
            return cls(_by_table({str(chunk): str(document) for chunk, document in source.items()}), rule)
        if isinstance(source, os.PathLike) or table_of(Path(source)) is not None:
            return cls(_by_table(_read_table(Path(source))), rule)
        if not source:
            raise DataError(
                "chunks: the separator is empty; give what is before the number of a chunk, such as #"
            )
        return cls(lambda name: _split(name, source), rule)

    def folded(self, run: Run) -> Run:
        """Return the run of documents; a note counts the chunks.

        Raises DataError if a chunk is listed twice for a query.
        """
        scores: dict[tuple[str, str], tuple[Any, float]] = {}
        seen: set[tuple[str, str]] = set()
        names = zip(*(run.rows.column(column).tolist() for column in (QUERY, DOCUMENT)), strict=True)
        for row, (query, chunk) in enumerate(names):
            pair = text_of(query), text_of(chunk)
            if pair in seen:
                chunk_name = f"chunk {quoted(pair[1])} of query {quoted(pair[0])}"
                raise run.rows.error(row, DOCUMENT, f"{chunk_name} is listed twice; keep one of the lines")
            seen.add(pair)
            document, key = self.parts(pair[1])
            part = key, float(run.scores[row])
            before = scores.setdefault((pair[0], document), part)
            if before is not part:
                scores[pair[0], document] = self._joined(before, part)
        note = (
            f"{run.path}: {len(seen)} chunks are {len(scores)} documents of queries ({self.rule} of scores)"
        )
        qids, documents = zip(*scores, strict=True)
        whole = run_of(qids, documents, [score for _, score in scores.values()], path=run.path)
        return replace(whole, notes=[*run.notes, note], qids=run.qids)

    def _joined(self, before: tuple[Any, float], chunk: tuple[Any, float]) -> tuple[Any, float]:
        if self.rule == "sum":
            return before[0], before[1] + chunk[1]
        if self.rule == "max":
            return before[0], max(before[1], chunk[1])
        return min(before, chunk, key=lambda part: part[0])


def _split(name: str, separator: str) -> tuple[str, Any]:
    """Return the document and the number of a chunk; a name without the separator is a document."""
    document, found, number = name.rpartition(separator)
    if not found or not document:
        return name, (0, 0, "")
    return document, (0, int(number), "") if number.isdecimal() else (1, 0, number)


def _by_table(documents: Mapping[str, str]) -> Callable[[str], tuple[str, Any]]:
    place = {chunk: at for at, chunk in enumerate(documents)}
    return lambda name: (documents.get(name, name), place.get(name, -1))


def _read_table(path: Path) -> dict[str, str]:
    names = table_columns(path)
    chunk, document = guessed(CHUNK_NAMES, names), guessed(DOCUMENT_NAMES, names)
    if chunk is None or document is None:
        raise DataError(f"{path}: expected the columns chunk and document; the columns are {listed(names)}")
    documents: dict[str, str] = {}
    for batch in read_columns(path, {chunk: str, document: str}):
        documents.update(zip(*(batch.column(name).to_pylist() for name in (chunk, document)), strict=True))
    return documents


def likely_separator(names: Sequence[str], judged: set[str]) -> str | None:
    """Return the separator whose prefixes are names of judged documents most often, if any are."""
    counts = {
        separator: sum(_split(name, separator)[0] in judged for name in names) for separator in SEPARATORS
    }
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None
