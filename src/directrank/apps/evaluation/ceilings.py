"""What the documents of a run could reach in their best order, and what they miss."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from directrank.apps.evaluation.evaluation import evaluate
from directrank.apps.evaluation.runs import Judged, Submission, named_runs
from directrank.contracts import Measure
from directrank.errors import DataError
from directrank.files import ReadOptions
from directrank.measures import distinct_measures


@dataclass(frozen=True)
class Ceiling:
    """The mean of a measure, that of the best order of the same documents, and the best of all.

    Attributes
    ----------
    run, measure : str
    value : float
        The measure of the run.
    ceiling : float
        That of its documents by descending grade: what a perfect reranker reaches.
    best : float
        That of all judged documents by descending grade.

    Examples
    --------
    >>> from directrank import ceiling
    >>> (one,) = ceiling({"q": {"a": 1, "b": 1}}, {"run": {"q": {"x": 2.0, "a": 1.0}}}, measures="AP")
    >>> one.value, one.ceiling, one.best
    (0.25, 0.5, 1.0)
    """

    run: str
    measure: str
    value: float
    ceiling: float
    best: float

    @property
    def order(self) -> float:
        """What is missing by the order of the run's documents."""
        return abs(self.ceiling - self.value)

    @property
    def retrieval(self) -> float:
        """What is missing because the run does not hold documents."""
        return abs(self.best - self.ceiling)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {**asdict(self), "order": self.order, "retrieval": self.retrieval}


def ceiling(
    data: Any,
    runs: Any,
    *,
    measures: str | Measure | Sequence[str | Measure] = ("nDCG@10", "AP"),
    convention: str = "standard",
    how: ReadOptions | None = None,
    without_self: bool = False,
) -> list[Ceiling]:
    """Return what each run could reach with a perfect order of its documents.

    Parameters
    ----------
    data, runs
        Judgments and rankings, as `directrank.evaluate_runs` takes them.
    measures : str, Measure or sequence of them
    convention : str, default="standard"
    how : ReadOptions, optional
        Columns of tables; guessed by their names by default.
    without_self : bool, default=False
        Leave out documents that are called like their query.

    Returns
    -------
    list of Ceiling
        One for each run and measure. Those with `order` and `retrieval` of means: ``best − value`` is their
        sum.

    Raises
    ------
    DataError
        If a file is malformed, or a measure is of subtopics, whose best order is not that of grades.

    Examples
    --------
    >>> (one,) = ceiling({"q": {"a": 1, "b": 1}}, {"run": {"q": {"x": 2.0, "a": 1.0}}}, measures="AP")
    >>> one.value, one.ceiling, one.order, one.retrieval
    (0.25, 0.5, 0.25, 0.5)
    """
    judged = Judged(data, how, without_self=without_self)
    found = []
    for label, run in named_runs(runs).items():
        found += ceilings_of(judged.submission(label, run), distinct_measures(measures), convention)
    return found


def ceilings_of(one: Submission, measures: Sequence[Measure], convention: str) -> list[Ceiling]:
    """Return what a ranking could reach; see `ceiling`."""
    diverse = [measure.name for measure in measures if measure.reads_subtopics]
    if diverse:
        raise DataError(f"{diverse[0]}: its best order is not that of grades; leave it out of a ceiling")
    by_grade = np.empty(one.queries.n_docs)
    by_grade[one.queries.row] = -one.queries.place  # documents are sorted by descending grade

    def means(scores: np.ndarray, retrieved: np.ndarray | None) -> dict[str, float]:
        return dict(
            evaluate(one.queries, scores, measures=measures, convention=convention, retrieved=retrieved)
        )

    value, ceiling, best = (
        means(one.scores, one.retrieved), means(by_grade, one.retrieved), means(by_grade, None),
    )  # fmt: skip
    return [Ceiling(one.label, name, value[name], ceiling[name], best[name]) for name in value]
