"""From the terms of each document to the documents of each term, block by block."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from directrank.text.index.arrays import read_array
from directrank.text.index.fields import counts, field_terms

#: Terms that are inverted at a time; a block takes about 50 bytes for each.
BLOCK_TERMS = 1 << 22


class Forward(NamedTuple):
    """The terms of all documents, one document after the other, mapped from disk."""

    terms: np.ndarray
    starts: np.ndarray
    title_lengths: np.ndarray

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield first and last document, exclusive, of blocks of about `size` terms."""
        first, n_docs = 0, len(self.starts) - 1
        while first < n_docs:
            last = int(np.searchsorted(self.starts, self.starts[first] + size, side="right")) - 1
            last = min(max(last, first + 1), n_docs)
            yield first, last
            first = last


def read_forward(folder: Path) -> Forward:
    """Return the terms of the documents of an index."""
    return Forward(
        *(read_array(folder / f"{name}.npy") for name in ("terms.of", "terms.start", "title.terms"))
    )


def invert(folder: Path, field: str, n_terms: int, size: int = BLOCK_TERMS) -> None:
    """Write the postings of a field: the documents of each term, in order, and how often they have it.

    The first pass over the blocks counts the documents of each term, the second puts each block in its place,
    so that memory does not grow with the collection.
    """
    forward = read_forward(folder)
    n_docs = len(forward.starts) - 1
    n_of_term, occurrences = np.zeros((2, n_terms), np.int64)
    lengths, different = np.zeros((2, n_docs), np.int32)
    for first, last, block in _counted(forward, field, n_terms, size):
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
    for first, _, block in _counted(forward, field, n_terms, size):
        n_here = np.diff(block.indptr)
        places = np.arange(block.nnz) + np.repeat(free - block.indptr[:-1], n_here)
        documents[places] = block.indices + first
        counted[places] = block.data
        free += n_here
    _save(folder, field, indptr=indptr, occurrences=occurrences, lengths=lengths, different=different)
    if not indptr[-1]:
        _save(folder, field, documents=documents, counts=counted)


def _save(folder: Path, field: str, **arrays: np.ndarray) -> None:
    for name, array in arrays.items():
        np.save(folder / f"{field}.{name}.npy", array)


def _counted(
    forward: Forward, field: str, n_terms: int, size: int
) -> Iterator[tuple[int, int, sparse.csc_array]]:
    """Yield first and last document of each block, and how often its documents have each term in a field."""
    for first, last in forward.blocks(size):
        starts = forward.starts[first : last + 1]
        terms = forward.terms[starts[0] : starts[-1]]
        found = field_terms(field, terms, starts, forward.title_lengths[first:last])
        yield first, last, counts(*found, n_terms)
