"""Evaluation of AP and nDCG@10 on ready arrays, beside a batched sort by NumPy and pytrec_eval.

directrank and the sort both have the ideal DCG of the queries ready. ranx is in libraries.py.
"""

from functools import partial

import numpy as np

from benchmarks.case import Case, Work
from benchmarks.kernels.evaluation import COLLECTIONS, batched_numpy, by_pytrec_eval, collection, ours

N_QUERIES, N_DOCS = 10_000, 100


def by_sorting(shares) -> tuple[Work, Work]:
    """Return our evaluation and that by NumPy, which must be the same."""
    relevance, scores = collection(N_QUERIES, N_DOCS, shares)
    own, sorting = ours(relevance, scores, n_threads=1), batched_numpy(relevance, scores)
    if not np.allclose(own(), sorting()):
        raise ValueError("the measures differ")
    return own, sorting


def by_trec(shares) -> tuple[Work, Work]:
    """Return our evaluation and pytrec_eval's, whose nDCG has the linear gain."""
    relevance, scores = collection(N_QUERIES // 10, N_DOCS, shares)
    own, theirs = ours(relevance, scores, n_threads=1), by_pytrec_eval(relevance, scores)
    if not np.isclose(own()[0], theirs()[0]):
        raise ValueError("AP differs")
    return own, theirs


WHAT = "AP and nDCG@10 of {} queries of 100 documents, {}, one thread"
CASES = (
    *(
        Case(
            f"evaluation/numpy-{words.split()[0]}",
            WHAT.format("10,000", words),
            "a batched argsort by NumPy of the same scores",
            partial(by_sorting, shares),
            faster=True,
            target=6.0,
        )
        for words, shares in COLLECTIONS.items()
    ),
    Case(
        "evaluation/pytrec_eval",
        WHAT.format("1,000", "48 % relevant"),
        "pytrec_eval on its own prepared data structures",
        partial(by_trec, COLLECTIONS["48 % relevant"]),
        faster=True,
        target=40.0,
    ),
)
