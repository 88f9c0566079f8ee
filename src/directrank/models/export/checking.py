"""A target's own rule run on data, beside the ranker's scores."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from directrank.data import QueryGroups
from directrank.errors import ExportError
from directrank.estimators.inputs import features_of
from directrank.estimators.ranker import Ranker
from directrank.measures import evaluate
from directrank.models.export.function import Target

#: Scores closer than this share of the largest one are equal to a float32 engine that adds many terms.
FLOAT32_TIE = 2.0**-19


@dataclass(frozen=True)
class Check:
    """How the scores of a target agree with those of the ranker.

    Attributes
    ----------
    by : str
        What computed the scores: a runtime, or our transcript of a file of the server's code.
    documents : int
    difference : float
        The largest difference of scores, after the mean of all differences: a constant changes no ranking.
    inversions : int
        Pairs of documents of one query in opposite orders.
    beyond_float32 : int
        Those of them whose scores float32 tells apart.
    measure : str
    ranker, target : float
        The measure of the ranker's scores, and of the target's.
    """

    by: str
    documents: int
    difference: float
    inversions: int
    beyond_float32: int
    measure: str
    ranker: float
    target: float

    def __str__(self) -> str:
        return (
            f"checked by {self.by} on {self.documents} documents: largest difference of scores "
            f"{self.difference:.2g}, {self.inversions} inverted pairs ({self.beyond_float32} beyond float32 "
            f"ties), {self.measure} {self.target:.4f} (ranker {self.ranker:.4f})"
        )


def checked(
    ranker: Ranker,
    target: Target,
    content: bytes,
    names: tuple[str, ...],
    groups: QueryGroups,
    measure: str | None,
) -> Check:
    """Run a target's file on documents, and compare.

    Raises
    ------
    ExportError
        If the runtime is not installed.
    """
    ours = ranker.predict(groups)
    try:
        features, in_caller_order = features_of(ranker, groups)
        rows = np.ascontiguousarray(in_caller_order(features.rows))
        theirs = np.asarray(target.scores(content, names, rows), np.float64)
    except (ImportError, FileNotFoundError) as error:
        raise ExportError(
            f"--check runs {target.by}, which is not installed ({error}); install it, or omit --check"
        ) from None
    change = theirs - ours
    change = change - np.median(change) if np.isfinite(change).all() else change
    name = measure or ranker.selected_by_
    queries = np.unique(groups.qid, return_inverse=True)[1]
    counts = inversions(queries, ours, theirs)
    values = [evaluate(groups, scores, measures=name)[name] for scores in (ours, theirs)]
    return Check(
        target.by, len(ours), float(np.max(np.abs(change), initial=0.0)), *counts, name, *map(float, values)
    )


def inversions(queries: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> tuple[int, int]:
    """Return the number of pairs of one query in opposite orders, and of those that float32 tells apart."""
    tie = FLOAT32_TIE * max(np.max(np.abs(ours), initial=0.0), np.max(np.abs(theirs), initial=0.0))
    order, total, apart = np.argsort(queries, kind="stable"), 0, 0
    ends = np.searchsorted(queries[order], np.arange(queries.max(initial=-1) + 2))
    for first, last in pairwise(ends.tolist()):
        rows = order[first:last]
        for at, row in enumerate(rows):
            rest = rows[at + 1 :]
            gap = ours[rest] - ours[row]
            inverted = gap * (theirs[rest] - theirs[row]) < 0
            total += int(inverted.sum())
            apart += int((inverted & (np.abs(gap) > tie)).sum())
    return total, apart
