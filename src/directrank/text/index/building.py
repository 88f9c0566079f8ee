"""Build an index: documents are read once, as a stream, and then inverted block by block."""

import os
import shutil
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from directrank.errors import DataError
from directrank.storage.folders import claim_folder
from directrank.text.collections.opening import BLANK, pieces
from directrank.text.collections.options import CollectionOptions
from directrank.text.collections.reading import read_documents
from directrank.text.collections.records import Document, Faults
from directrank.text.index import fields
from directrank.text.index.analysis import STOPPED, Analysis, TermNumbers, words_of
from directrank.text.index.arrays import ArrayWriter, TextsWriter, write_order
from directrank.text.index.inversion import BLOCK_TERMS, invert
from directrank.text.index.layout import new_data_folder, remove_other_data, write_header

#: Documents that are analysed at a time, and characters of them.
BATCH, BATCH_CHARACTERS = 1000, 1 << 23
EMPTY = "documents without a term stay in the index; no query finds them"
REPEATED = "documents have the name of an earlier one and are left out"
UNNAMED = "documents without a name are left out"


def build_index(
    collection: Any,
    folder: str | os.PathLike,
    *,
    analysis: Analysis | None = None,
    options: CollectionOptions | None = None,
    force: bool = False,
    block_terms: int = BLOCK_TERMS,
) -> list[str]:
    """Index a collection and return sentences on what was read, and what was wrong with it.

    An index that is in the folder already is replaced when the new one is complete.

    Parameters
    ----------
    collection : path, or data frame
        A file or a folder of TREC, SMART, JSON lines (BEIR), CSV or Parquet, compressed or not.
    folder : path
        An empty or a new one, or one of results of this library.
    analysis : Analysis, optional
        How text becomes terms; English by default.
    options : CollectionOptions, optional
    force : bool, default=False
        Whether the folder may hold other files.
    block_terms : int
        Terms that are inverted at a time.

    Raises
    ------
    DataError
        If no document can be used.
    OSError
        If a file cannot be read or written.
    """
    analysis, options, folder = analysis or Analysis(), options or CollectionOptions(), Path(folder)
    faults = Faults()
    read = read_documents(collection, options, faults)
    claim_folder(folder, force=force)
    data = new_data_folder(folder)
    try:
        facts = _written(data, read.records, analysis, faults)
        if not facts["documents"]:
            raise DataError(f"{collection}: holds no document; {'; '.join(faults.lines()) or 'it is empty'}")
        for field in facts["fields"]:
            invert(data, field, facts["terms"], block_terms)
        lines = [*read.lines, *faults.lines()]
        write_header(folder, data, {**facts, "analysis": asdict(analysis), "source": lines})
    except BaseException:
        shutil.rmtree(data, ignore_errors=True)
        raise
    remove_other_data(folder, data)
    return [*lines, f"{facts['documents']} documents, {facts['terms']} different terms, {_fields(facts)}"]


def _fields(facts: dict[str, Any]) -> str:
    return f"fields: {', '.join(facts['fields'])}"


def _written(data: Path, records: Iterable[Document], analysis: Analysis, faults: Faults) -> dict[str, Any]:
    """Write documents and their terms; return what the header says of them."""
    numbers = TermNumbers(analysis)
    texts = {name: TextsWriter(data, name) for name in ("ids", "titles", "bodies")}
    terms = ArrayWriter(data / "terms.of.npy", np.int32)
    starts = ArrayWriter(data / "terms.start.npy", np.int64)
    title_lengths = ArrayWriter(data / "title.terms.npy", np.int32)
    starts.append(np.zeros(1))
    n_docs, with_title = 0, False
    for batch in _batches(_usable(records, faults)):
        for writer, column in zip(texts.values(), zip(*batch, strict=True), strict=True):
            writer.extend(column)
        found, lengths, titles = _analysed(batch, numbers)
        for row in np.flatnonzero(lengths == 0):
            faults.add(EMPTY, batch[row].docid)
        starts.append(terms.length + np.cumsum(lengths))
        terms.append(found)
        title_lengths.append(titles)
        n_docs, with_title = n_docs + len(batch), with_title or bool(titles.any())
    for writer in (*texts.values(), terms, starts, title_lengths):
        writer.close()
    words = TextsWriter(data, "words")
    words.extend(numbers.terms)
    words.close()
    for name in ("words", "ids"):
        write_order(data, name)
    found_fields = fields.ALL if with_title else fields.WITHOUT_TITLES
    return {"documents": n_docs, "terms": len(numbers.terms), "fields": list(found_fields)}


def _usable(records: Iterable[Document], faults: Faults) -> Iterator[Document]:
    """Yield documents that have a name of their own."""
    seen = set()
    for record in records:
        if not record.docid:
            faults.add(UNNAMED, record.title or record.body)
        elif record.docid in seen:
            faults.add(REPEATED, record.docid)
        else:
            seen.add(record.docid)
            yield record


def _batches(records: Iterator[Document]) -> Iterator[list[Document]]:
    batch, size = [], 0
    for record in records:
        batch.append(record)
        size += len(record.title) + len(record.body)
        if len(batch) == BATCH or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _analysed(batch: list[Document], numbers: TermNumbers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the terms of documents, how many each has, and how many of these are its title."""
    found = array("i")
    ends = np.empty((len(batch), 2), np.int64)
    for row, document in enumerate(batch):
        for place, text in enumerate((document.title, document.body)):
            for piece in pieces(text, BLANK):
                found.extend(map(numbers.__getitem__, words_of(piece)))
            ends[row, place] = len(found)
    words = np.array(found, np.int32)
    kept = np.concatenate([[0], np.cumsum(words != STOPPED)])
    bounds = np.concatenate([[0], kept[ends.ravel()]])
    sizes = np.diff(bounds).reshape(-1, 2)
    return words[words != STOPPED], sizes.sum(axis=1), sizes[:, 0]
