"""A synthetic collection of the size and shape of MSLR-WEB30K."""

import os

import numpy as np

from benchmarks.kernels.number_text import LONGEST_NUMBER, write_features
from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.files.letor_lines import POWERS
from directrank.storage.atomic import open_atomically
from directrank.testing.synthetic import Recipe, draw_groups, pieces, thresholds, uneven_sizes

N_QUERIES, N_FEATURES, MEAN_DOCS, LARGEST_QUERY = 31_531, 136, 120, 1_251
# The spread gives E[n²] of about 19,000.
SPREAD = 0.53
SHARES = np.array([0.52, 0.32, 0.13, 0.02])
NOISE, DECIMALS = 2.0, 4


def make_web30k(multiple: float = 1.0, random_state=0) -> QueryGroups:
    """Draw a collection shaped like MSLR-WEB30K: 31,531 queries, 136 features, five grades, 48 % not 0.

    Query sizes are log-normal with a mean of about 120 and a tail to 1,251. X is drawn in pieces straight
    into its place; it takes 2.06 GB at a multiple of 1.

    Parameters
    ----------
    multiple : float, default=1.0
        Of the number of queries.
    random_state : int, Generator or None, default=0

    Returns
    -------
    QueryGroups
    """
    rng, sizes, recipe = _plan(multiple, random_state)
    return draw_groups(rng, sizes, recipe, f"web30k x {multiple:g}")


def write_web30k(path: str | os.PathLike, multiple: float = 1.0, random_state=0) -> None:
    """Write the documents of `make_web30k` as LETOR text, in pieces of a few hundred queries.

    Parameters
    ----------
    path : path-like
        At a multiple of 1 the file takes about 4.5 GB.
    multiple : float, default=1.0
    random_state : int, Generator or None, default=0
    """
    rng, sizes, recipe = _plan(multiple, random_state)
    with open_atomically(path) as file:
        for start, stop, own in pieces(rng, len(sizes)):
            indptr = np.concatenate(([0], np.cumsum(sizes[start:stop]))).astype(np.int64)
            X = np.empty((indptr[-1], N_FEATURES), np.float32)
            relevance, row = recipe.draw(own, sizes[start:stop], X)
            queries = Queries(relevance, indptr, row, np.arange(start + 1, stop + 1))
            _write_rows(QueryGroups.from_inner(X, queries), file)


def _write_rows(groups: QueryGroups, file) -> None:
    """Write lines without comments, with the features of all documents turned into text by a kernel."""
    row_of = groups.to_caller(np.arange(groups.n_docs))
    text = np.empty(groups.n_docs * N_FEATURES * (LONGEST_NUMBER + len(f" {N_FEATURES}:")), np.uint8)
    ends = np.empty(groups.n_docs, np.int64)
    write_features(groups.features, row_of, POWERS, text, ends)
    start = 0
    for label, query, end in zip(groups.relevance, groups.qid, ends, strict=True):
        file.write(f"{int(label)} qid:{query}".encode() + text[start:end].tobytes() + b"\n")
        start = end


def _plan(multiple: float, random_state):
    n_queries = round(N_QUERIES * multiple)
    if n_queries < 1:
        raise ValueError(f"multiple={multiple} leaves no query")
    rng = np.random.default_rng(random_state)
    sizes = np.minimum(uneven_sizes(rng, n_queries, MEAN_DOCS, SPREAD), LARGEST_QUERY)
    sizes[np.argmax(sizes)] = LARGEST_QUERY
    weights = rng.standard_normal(N_FEATURES) * rng.random(N_FEATURES) ** 3
    recipe = Recipe(weights / np.linalg.norm(weights), NOISE, thresholds(SHARES, NOISE), DECIMALS)
    return rng, sizes, recipe
