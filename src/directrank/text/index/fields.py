"""The fields of documents, and how the terms of a document belong to them."""

import numpy as np
from scipy import sparse

TITLE, BODY, WHOLE = "title", "body", "whole"
#: The fields of an index; one without titles has the whole text only.
ALL, WITHOUT_TITLES = (TITLE, BODY, WHOLE), (WHOLE,)


def field_bounds(
    field: str, starts: np.ndarray, ends: np.ndarray, title_lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the field of each document begins, and how many terms it has."""
    if field == TITLE:
        return starts, title_lengths
    if field == BODY:
        return starts + title_lengths, ends - starts - title_lengths
    return starts, ends - starts


def counts(terms: np.ndarray, starts: np.ndarray, n_terms: int) -> sparse.csc_array:
    """Return how often each document has each term, int32 (n_docs, n_terms).

    Parameters
    ----------
    terms : ndarray of shape (n_tokens,), int32
        Terms of all documents, one after the other.
    starts : ndarray of shape (n_docs + 1,)
        Document d has the terms ``terms[starts[d] - starts[0] : starts[d + 1] - starts[0]]``.
    n_terms : int
    """
    shape = (len(starts) - 1, n_terms)
    ones = np.ones(len(terms), np.int32)
    # sum_duplicates works inside the arrays that it is given.
    rows = sparse.csr_array((ones, np.array(terms), (starts - starts[0]).astype(np.int64)), shape)
    rows.sum_duplicates()
    return rows.tocsc()


def field_terms(
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
