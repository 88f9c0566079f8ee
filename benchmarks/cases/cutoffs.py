"""Cut-offs of rankings: calibration and use, beside one sort of the documents by query and score."""

import numpy as np

from benchmarks.case import Case, Work
from directrank import Cutoff

N_QUERIES, N_DOCS = 10_000, 100


def scored() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, relevance and query of 10⁶ documents, a tenth relevant."""
    rng = np.random.default_rng(0)
    relevance = (rng.random(N_QUERIES * N_DOCS) < 0.1).astype(float)
    return relevance + rng.normal(size=len(relevance)), relevance, np.repeat(np.arange(N_QUERIES), N_DOCS)


def calibration(promise: str, axis: str | None) -> tuple[Work, Work]:
    """Return a calibration, and the sort."""
    scores, relevance, qid = scored()
    return (
        lambda: Cutoff(0.2, promise=promise, axis=axis).fit(scores, relevance, qid),
        lambda: np.lexsort((-scores, qid)),
    )


def keeping() -> tuple[Work, Work]:
    """Return the use of a cut-off on standardised scores, and the sort."""
    scores, relevance, qid = scored()
    cutoff = Cutoff(0.2, axis="standardised").fit(scores, relevance, qid)
    return lambda: cutoff.keep(scores, qid), lambda: np.lexsort((-scores, qid))


SORT = "one sort of these documents by query and score"
CASES = (
    Case(
        "cutoffs/mean",
        "a cut-off by rank in the mean, from 10,000 queries with 10⁶ scores",
        SORT,
        lambda: calibration("mean", "rank"),
    ),
    Case(
        "cutoffs/nine-in-ten",
        "the same for nine in ten, with the choice of one axis of four",
        SORT,
        lambda: calibration("nine in ten", None),
    ),
    Case("cutoffs/keep", "which of 10⁶ scores a cut-off on standardised scores keeps", SORT, keeping),
)
