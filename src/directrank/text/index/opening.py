"""An index that was built: terms, postings and texts, mapped from disk."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from directrank.text.index.analysis import Analysis, terms_of
from directrank.text.index.folder import Names, Texts, check_files, read_array, read_header

TITLE, BODY, WHOLE = "title", "body", "whole"
#: The fields of an index; one without titles has the whole text only.
ALL, WITHOUT_TITLES = (TITLE, BODY, WHOLE), (WHOLE,)


@dataclass(frozen=True, eq=False)
class Postings:
    """The documents of each term in one field, mapped from disk."""

    # (n_terms + 1,), int64: Term t is in ``documents[indptr[t]:indptr[t + 1]]``, which ascend
    indptr: np.ndarray
    # documents, counts: (n_postings,), int32: The document of each posting, and how often it has the term
    documents: np.ndarray
    counts: np.ndarray
    occurrences: np.ndarray  # (n_terms,), int64: How often all documents have each term
    # lengths, different: (n_docs,), int32: The number of terms of each document, and of different ones
    lengths: np.ndarray
    different: np.ndarray

    @cached_property
    def df(self) -> np.ndarray:
        """The number of documents of each term, int64 (n_terms,)."""
        return np.diff(self.indptr)

    @cached_property
    def total(self) -> int:
        """The number of terms of all documents."""
        return int(self.occurrences.sum())

    @property
    def mean_length(self) -> float:
        """Mean number of terms of a document; 1 if no document has a term."""
        return self.total / len(self.lengths) if self.total else 1.0

    def matrix(self) -> sparse.csc_array:
        """Return how often each document has each term, (n_docs, n_terms)."""
        shape = len(self.lengths), len(self.occurrences)
        return sparse.csc_array((self.counts, self.documents, self.indptr), shape)


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


class Index:
    """An index of documents, as `open_index` returns it.

    Attributes
    ----------
    folder : Path
    n_docs, n_terms : int
    fields : tuple of str
        title, body and whole, or only whole if no document has a title.
    analysis : Analysis
    ids : Names
        The names of documents.
    titles, bodies : Texts
    """

    def __init__(self, folder: Path, *, verify: bool):
        header = read_header(folder)
        self.folder, self._data = folder, check_files(folder, header, digests=verify)
        self.n_docs, self.n_terms = int(header["documents"]), int(header["terms"])
        self.fields, self.analysis = tuple(header["fields"]), Analysis(**header["analysis"])
        self.ids, self._words = Names(self._data, "ids"), Names(self._data, "words")
        self.titles, self.bodies = Texts(self._data, "titles"), Texts(self._data, "bodies")
        self.postings = cache(self._postings)

    def __repr__(self) -> str:
        return (
            f"<Index {self.folder}: {self.n_docs} documents, {self.n_terms} terms, {', '.join(self.fields)}>"
        )

    def terms(self, text: str) -> np.ndarray:
        """Return the terms of a text that the collection has, as often as they are in the text."""
        numbers = [self._words.find(term) for term in terms_of(text, self.analysis)]
        return np.array([each for each in numbers if each >= 0], np.int64)

    def word(self, term: int) -> str:
        """Return a term by its number."""
        return self._words[term]

    @cached_property
    def forward(self) -> Forward:
        """The terms of each document in their order."""
        return read_forward(self._data)

    def _postings(self, field: str) -> Postings:
        names = (each.name for each in dataclass_fields(Postings))
        return Postings(*(read_array(self._data / f"{field}.{name}.npy") for name in names))


def open_index(folder: str | os.PathLike, *, verify: bool = True) -> Index:
    """Open an index.

    Parameters
    ----------
    folder : path
    verify : bool, default=True
        Whether to compare all files with their checksums. Their sizes are always checked.

    Raises
    ------
    DataError
        If the folder is no index, or one that was damaged.
    """
    return Index(Path(folder), verify=verify)
