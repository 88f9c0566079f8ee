"""Build an index: documents are read once, as a stream, and then inverted block by block."""

import os
import shutil
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy import sparse

from directrank.apps.text.collections.reading import read_documents
from directrank.apps.text.collections.records import BLANK, CollectionOptions, Document, Faults, pieces
from directrank.apps.text.index.analysis import STOPPED, Analysis, TermNumbers, words_of
from directrank.apps.text.index.folder import (
    ALL,
    TITLE,
    WHOLE,
    WITHOUT_TITLES,
    ArrayWriter,
    Forward,
    TextsWriter,
    new_data_folder,
    read_forward,
    remove_other_data,
    write_header,
    write_order,
)
from directrank.errors import DataError
from directrank.storage.folders import claim_folder
from directrank.storage.strict_json import JSONObject

#: Terms that are inverted at a time; a block takes about 50 bytes for each.
BLOCK_TERMS = 1 << 22

#: Documents that are analysed at a time, and characters of them.
BATCH, BATCH_CHARACTERS = 1000, 1 << 23
EMPTY = "documents without a term stay in the index; no query finds them"
REPEATED = "documents have the name of an earlier one and are left out"
UNNAMED = "documents without a name are left out"


def build_index(
    collection: object,
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
    documents = read_documents(collection, options, faults)
    claim_folder(folder, force=force)
    data = new_data_folder(folder)
    try:
        facts = _written(data, documents.records, analysis, faults)
        if not facts["documents"]:
            raise DataError(f"{collection}: holds no document; {'; '.join(faults.lines()) or 'it is empty'}")
        for field in facts["fields"]:
            _invert(data, field, facts["terms"], block_terms)
        lines = [*documents.lines, *faults.lines()]
        write_header(folder, data, {**facts, "analysis": asdict(analysis), "source": lines})
    except BaseException:
        shutil.rmtree(data, ignore_errors=True)
        raise
    remove_other_data(folder, data)
    fields = ", ".join(facts["fields"])
    return [*lines, f"{facts['documents']} documents, {facts['terms']} different terms, fields: {fields}"]


def _written(data: Path, records: Iterable[Document], analysis: Analysis, faults: Faults) -> JSONObject:
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
        term_numbers, lengths, titles = _analysed(batch, numbers)
        for row in np.flatnonzero(lengths == 0):
            faults.add(EMPTY, batch[row].docid)
        starts.append(terms.length + np.cumsum(lengths))
        terms.append(term_numbers)
        title_lengths.append(titles)
        n_docs, with_title = n_docs + len(batch), with_title or bool(titles.any())
    for writer in (*texts.values(), terms, starts, title_lengths):
        writer.close()
    words = TextsWriter(data, "words")
    words.extend(numbers.terms)
    words.close()
    for name in ("words", "ids"):
        write_order(data, name)
    fields = ALL if with_title else WITHOUT_TITLES
    return {"documents": n_docs, "terms": len(numbers.terms), "fields": list(fields)}


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
    term_numbers = array("i")
    ends = np.empty((len(batch), 2), np.int64)
    for row, document in enumerate(batch):
        for place, text in enumerate((document.title, document.body)):
            for piece in pieces(text, BLANK):
                term_numbers.extend(map(numbers.__getitem__, words_of(piece)))
            ends[row, place] = len(term_numbers)
    words = np.array(term_numbers, np.int32)
    places = np.concatenate([[0], np.cumsum(words != STOPPED)])
    bounds = np.concatenate([[0], places[ends.ravel()]])
    sizes = np.diff(bounds).reshape(-1, 2)
    return words[words != STOPPED], sizes.sum(axis=1), sizes[:, 0]


def _invert(folder: Path, field: str, n_terms: int, size: int = BLOCK_TERMS) -> None:
    """Write the postings of a field: the documents of each term, in order, and how often they have it.

    The first pass over the blocks counts the documents of each term, the second puts each block in its place,
    so that memory does not grow with the collection.
    """
    forward = read_forward(folder)
    n_docs = len(forward.starts) - 1
    n_of_term, occurrences = np.zeros((2, n_terms), np.int64)
    lengths, different = np.zeros((2, n_docs), np.int32)
    for first, last, block in _counted_blocks(forward, field, n_terms, size):
        n_of_term += np.diff(block.indptr)
        occurrences += block.sum(axis=0)
        lengths[first:last] = block.sum(axis=1)
        different[first:last] = np.bincount(block.indices, minlength=last - first)
    indptr = np.concatenate([[0], np.cumsum(n_of_term)])
    documents, counted = (
        np.lib.format.open_memmap(folder / f"{field}.{name}.npy", "w+", np.int32, (int(indptr[-1]),))
        if indptr[-1]
        else np.empty(0, np.int32)
        for name in ("documents", "counts")
    )
    free = indptr[:-1].copy()
    for first, _, block in _counted_blocks(forward, field, n_terms, size):
        n_here = np.diff(block.indptr)
        places = np.arange(block.nnz) + np.repeat(free - block.indptr[:-1], n_here)
        documents[places] = block.indices + first
        counted[places] = block.data
        free += n_here
    _save(folder, field, indptr=indptr, occurrences=occurrences, lengths=lengths, different=different)
    if not indptr[-1]:
        _save(folder, field, documents=documents, counts=counted)


def _save(folder: Path, field: str, **arrays: np.ndarray) -> None:
    for name, values in arrays.items():
        np.save(folder / f"{field}.{name}.npy", values)


def _counted_blocks(
    forward: Forward, field: str, n_terms: int, size: int
) -> Iterator[tuple[int, int, sparse.csc_array]]:
    """Yield first and last document of each block, and how often its documents have each term in a field."""
    for first, last in forward.blocks(size):
        starts = forward.starts[first : last + 1]
        terms = forward.terms[starts[0] : starts[-1]]
        field_terms, begins = _field_terms(field, terms, starts, forward.title_lengths[first:last])
        # sum_duplicates works inside the arrays that it is given.
        ones, indptr = np.ones(len(field_terms), np.int32), (begins - begins[0]).astype(np.int64)
        rows = sparse.csr_array((ones, np.array(field_terms), indptr), (last - first, n_terms))
        rows.sum_duplicates()
        yield first, last, rows.tocsc()


def _field_terms(
    field: str, terms: np.ndarray, starts: np.ndarray, title_lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms of a field, and where each document begins, from the terms of whole documents.

    The first ``title_lengths[d]`` terms of document d are its title.
    """
    if field == WHOLE:
        return terms, starts
    lengths = np.diff(starts)
    place = np.arange(len(terms)) - np.repeat(starts[:-1] - starts[0], lengths)
    in_title = place < np.repeat(title_lengths, lengths)
    of_field = title_lengths if field == TITLE else lengths - title_lengths
    return terms[in_title == (field == TITLE)], np.concatenate([[0], np.cumsum(of_field)])
