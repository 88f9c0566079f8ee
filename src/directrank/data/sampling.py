"""Candidates that may be a sample of all documents, on which measures have other values than on all."""

from directrank.data.queries import Queries

#: Of fewer queries, equal numbers of documents may be chance.
LEAST_QUERIES = 10


def sampling_note(queries: Queries) -> str:
    """Return a sentence on queries with one relevant document each among equal numbers; else nothing.

    If documents have names, no query may have half of all.
    """
    size, docid = queries.longest, queries.docid
    if queries.n_queries < LEAST_QUERIES or size < 2:
        return ""
    if (queries.n_positive != 1).any() or (queries.sizes != size).any():
        return ""
    if docid is not None and 2 * size >= len(set(docid.tolist())):
        return ""
    return (
        f"Each of {queries.n_queries} queries has one relevant document among {size}. If the others are a "
        "sample, HR and nDCG on sampled items are not those of the catalogue: rank all items."
    )
