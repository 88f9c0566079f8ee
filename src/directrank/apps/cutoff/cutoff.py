"""Cut-offs: how many results of a query are kept, with a promise about the relevant ones that are not."""

import math
import os
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrank.apps.cutoff.abstention import Abstention
from directrank.apps.cutoff.axes import AXES, ScoredLists
from directrank.apps.cutoff.exchangeability import STALE, e_values
from directrank.apps.cutoff.promises import (
    RISK,
    Promise,
    holds_in_the_mean,
    holds_nine_in_ten,
    largest_threshold,
    least_queries,
)
from directrank.errors import DataError, ModelFormatError, check_choice
from directrank.storage.atomic import write_atomically
from directrank.storage.strict_json import (
    OddValueError,
    Record,
    StrictJSONError,
    encode,
    parse,
    signed,
    take_signature,
)

FORMAT = "directrank cutoff 1"
MEAN, NINE_IN_TEN = "mean", "nine in ten"
PROMISES: dict[str, Promise] = {MEAN: holds_in_the_mean, NINE_IN_TEN: holds_nine_in_ten}
MEANINGS = {
    MEAN: "in expectation for a new query",
    NINE_IN_TEN: "in the mean of queries, for nine calibration sets in ten",
}
#: Calibration queries from which the promise is of nine in ten by default, and from which they choose the
#: axis: with fewer, the choice costs more than it gains (benchmarks/studies/cutoff.py).
MANY, CHOOSING = 50, 200
#: A cut at random keeps 1 less what it misses. A cut-off that keeps over nine tenths of that buys nothing.
WORTH = 0.9


class Outcome(NamedTuple):
    """What a cut-off does on judged queries; queries without a relevant document are left out of `missed`.

    `missed` is the mean share of a query's relevant documents that are not kept, with a 95 % interval over
    queries; `kept` the share of all documents that are.
    """

    n_queries: int
    kept: float
    missed: float
    low: float
    high: float


class CutoffFile(Record):
    """A cut-off in its file."""

    format: str
    miss: float
    promise: str
    axis: str
    threshold: float
    n_queries: int
    kept: float
    missed: float
    message: str
    answerable: list[float]
    unanswerable: list[float]
    tops: list[float]
    false_answers: float | None = None
    ranking: str = ""
    rel: float = 1.0


class Cutoff:
    """A threshold below which documents are dropped, with a promise about relevant ones among them.

    The loss of a query is the share of its relevant documents that are dropped. Of judged documents alone:
    what was not judged, or not retrieved, is not counted. Either the expected loss of a new query is at most
    `miss`; or, with ``nine in ten``, the mean loss of all queries is, which is wrong for one calibration set
    in ten at most. Both need queries like those of the calibration, which the ranker was not trained on.

    Parameters
    ----------
    miss : float, default=0.1
        The promised loss, above 0 and below 1.
    promise : {"mean", "nine in ten"}, optional
        By default ``"nine in ten"`` from 50 calibration queries on.
    axis : {"rank", "standardised", "gap", "score"}, optional
        What the threshold is compared with: the rank, the score in standard deviations of its query, below
        the query's best, or as it is. By default the rank, and from 200 queries on the one that keeps fewest
        documents: in the mean, half of the queries choose it and the other half is calibrated; for nine in
        ten, each axis has a quarter of the risk.
    false_answers : float, optional
        The promised share of queries that nothing answers which are answered all the same; needs calibration
        queries without a relevant document.
    rel : float, default=1
        The least grade of a relevant document.
    random_state : int, default=0
        Of the half that chooses, and of ties of `staleness`.

    Attributes
    ----------
    promise_, axis_ : str
    threshold_ : float
        The least value on the axis that is kept (ranks are negative); minus infinity where all are kept.
    n_queries_ : int
        Calibration queries with a relevant document.
    kept_, missed_ : float
        On the queries that were calibrated: the share of documents that are kept, and the mean loss.
    message_ : str
        The promise in a sentence, or why everything is kept.
    abstention_ : Abstention, or None
    tops_ : ndarray of float
        The largest score of each calibration query.
    ranking_ : str

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster, "Conformal risk control", ICLR 2024.

    Examples
    --------
    >>> from directrank import Cutoff
    >>> relevance = [1, 0, 0, 0] * 20
    >>> scores, qid = [4.0, 3.0, 2.0, 1.0] * 20, [query for query in range(20) for _ in range(4)]
    >>> cutoff = Cutoff(miss=0.2).fit(scores, relevance, qid)
    >>> cutoff.axis_, cutoff.keep([0.9, 0.8, 0.1], ["a", "a", "a"]).tolist()
    ('rank', [True, False, False])
    """

    promise_: str
    axis_: str
    threshold_: float
    n_queries_: int
    kept_: float
    missed_: float
    message_: str
    abstention_: Abstention | None
    tops_: np.ndarray
    ranking_: str

    def __init__(
        self, miss: float = 0.1, *, promise: str | None = None, axis: str | None = None,
        false_answers: float | None = None, rel: float = 1.0, random_state: int = 0,
    ):  # fmt: skip
        for name, share in (("miss", miss), ("false_answers", false_answers)):
            if share is not None and not 0.0 < share < 1.0:
                raise ValueError(f"{name}: found {share}, expected a share between 0 and 1, such as 0.1")
        if random_state < 0:
            raise ValueError(f"random_state: found {random_state}, expected a seed: a number, 0 or more")
        if promise is not None:
            check_choice("promise", promise, PROMISES)
        if axis is not None:
            check_choice("axis", axis, AXES)
        self.miss, self.promise, self.axis, self.false_answers = miss, promise, axis, false_answers
        self.rel, self.random_state = rel, random_state

    def fit(self, scores, relevance, qid, *, ranking: str = "") -> "Cutoff":
        """Calibrate the cut-off on judged queries.

        Parameters
        ----------
        scores, relevance, qid : arrays of shape (n_docs,)
            The documents of queries that the ranker was not trained on, in any order.
        ranking : str, default=""
            What gave the scores, such as the digest of a model; it is saved with the cut-off.

        Returns
        -------
        Cutoff

        Raises
        ------
        DataError
            If no query has a relevant document, or a score is not finite; with `false_answers`, if every
            query has one.
        """
        lists = ScoredLists.of(scores, qid, relevance)
        answerable = np.bincount(lists.query, lists.relevance >= self.rel, lists.n_queries) > 0
        n = int(answerable.sum())
        if not n:
            raise DataError(
                f"no query has a document of grade {self.rel:g} or more, so there is nothing to miss"
            )
        tops = lists.top
        self.abstention_ = None
        if self.false_answers is not None:
            if n == lists.n_queries:
                raise DataError(
                    "false_answers: every query has a relevant document; judge queries that nothing answers"
                )
            self.abstention_ = Abstention(np.sort(tops[answerable]), np.sort(tops[~answerable]))
        self.tops_, self.n_queries_, self.ranking_ = tops, n, ranking
        self.promise_ = self.promise or (NINE_IN_TEN if n >= MANY else MEAN)
        calibrated, holds = lists.chosen(answerable), PROMISES[self.promise_]
        self.axis_ = self.axis or "rank"
        if self.axis is None and n >= CHOOSING:
            self.axis_, calibrated, holds = self._with_axis(calibrated)
        least = least_queries(holds, self.miss)
        self.threshold_ = self._threshold(calibrated, self.axis_, holds)
        outcome = self._outcome(calibrated)
        if n < least:
            self.message_ = (
                f"keep everything: {n} {'query' if n == 1 else 'queries'} cannot promise a miss of "
                f"{self.miss:g} ({self.promise_}); {least} could"
            )
        elif outcome.kept > WORTH * (1.0 - outcome.missed):
            self.message_ = (
                f"a cut-off buys nothing here: to miss {self.miss:g} of relevant documents at most, "
                f"{outcome.kept:.0%} of all would be kept, so everything is kept"
            )
            if lists.relevance.min() >= self.rel:
                self.message_ += (
                    f"; every document has grade {self.rel:g} or more, so each is relevant: name the least "
                    "grade of a relevant one by --rel (in Python, rel=)"
                )
            self.threshold_, outcome = -math.inf, self._outcome(calibrated, -math.inf)
        else:
            text = AXES[self.axis_][1](self.threshold_)
            self.message_ = (
                f"keep documents with {text}: they are {outcome.kept:.1%} of all, and at most {self.miss:g} "
                f"of a query's judged relevant ones are missed {MEANINGS[self.promise_]} "
                f"({n} queries; {outcome.missed:.3f} missed there)"
            )
        self.kept_, self.missed_ = outcome.kept, outcome.missed
        return self

    def _with_axis(self, lists: ScoredLists) -> tuple[str, ScoredLists, Promise]:
        """Return the axis that keeps fewest documents, and the queries and the promise for its threshold.

        Nine in ten hold for all axes at once if each has its share of the risk, so that no query is spent on
        the choice. In the mean, half of the queries choose. Where either leaves no promise, it is the rank.
        """
        n, holds = lists.n_queries, PROMISES[self.promise_]
        choosing = calibrated = lists
        if self.promise_ == NINE_IN_TEN:
            holds = partial(holds_nine_in_ten, risk=RISK / len(AXES))
        else:
            # Whatever the order of queries.
            order = np.argsort(np.array([str(qid) for qid in lists.qid.tolist()]), kind="stable")
            first = np.zeros(n, bool)
            first[order[np.random.default_rng(self.random_state).permutation(n)[: n // 2]]] = True
            choosing, calibrated = lists.chosen(first), lists.chosen(~first)
        if choosing.n_queries < least_queries(holds, self.miss):
            return "rank", lists, PROMISES[self.promise_]

        def share(axis: str) -> float:
            return float((AXES[axis][0](choosing) >= self._threshold(choosing, axis, holds)).mean())

        return min(AXES, key=share), calibrated, holds

    def _threshold(self, lists: ScoredLists, axis: str, holds: Promise) -> float:
        values, relevant = AXES[axis][0](lists), lists.relevance >= self.rel
        query = lists.query[relevant]
        weights = 1.0 / np.bincount(query, minlength=lists.n_queries)[query]
        return largest_threshold(values[relevant], weights, query, lists.n_queries, holds, self.miss)

    def _outcome(self, lists: ScoredLists, threshold: float | None = None) -> Outcome:
        threshold = self.threshold_ if threshold is None else threshold
        mask = AXES[self.axis_][0](lists) >= threshold
        relevant = lists.relevance >= self.rel
        found, all_relevant = (
            np.bincount(lists.query, which, lists.n_queries) for which in (relevant & mask, relevant)
        )
        judged = all_relevant > 0
        losses = 1.0 - found[judged] / all_relevant[judged]
        n = len(losses)
        mean = float(losses.mean()) if n else math.nan
        half = 1.96 * float(losses.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return Outcome(n, float(mask.mean()), mean, max(mean - half, 0.0), min(mean + half, 1.0))

    def keep(self, scores, qid) -> np.ndarray:
        """Return whether each document is kept; the order of documents is not changed.

        Parameters
        ----------
        scores, qid : arrays of shape (n_docs,)
            All scored documents of each query, as in the calibration.

        Returns
        -------
        ndarray of shape (n_docs,), bool

        Raises
        ------
        DataError
            If a score is not finite.
        """
        lists = ScoredLists.of(scores, qid)
        mask = np.empty(len(lists.scores), bool)
        mask[lists.row] = AXES[self.axis_][0](lists) >= self.threshold_
        return mask

    def answers(self, scores, qid) -> np.ndarray:
        """Return for each document whether its query is answered; all are without `false_answers`."""
        lists = ScoredLists.of(scores, qid)
        answered = np.ones(len(lists.scores), bool)
        if self.abstention_ is not None and self.false_answers is not None:
            answered[lists.row] = (self.abstention_.p_values(lists.top) <= self.false_answers)[lists.query]
        return answered

    def evaluate(self, scores, relevance, qid) -> Outcome:
        """Return what the cut-off keeps and misses on other judged queries."""
        return self._outcome(ScoredLists.of(scores, qid, relevance))

    def staleness(self, scores, qid) -> np.ndarray:
        """Return the e-value against "queries are like those of the calibration", after each new query.

        Queries arrive in the order of their first documents. From 20 on, calibrate again.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        return e_values(self.tops_, ScoredLists.of(scores, qid).top, self.random_state)

    def is_stale(self, scores, qid) -> bool:
        """Whether the e-value of `staleness` reaches 20."""
        return bool(self.staleness(scores, qid).max() >= STALE)

    def summary(self) -> list[str]:
        """Return what the cut-off promises, a sentence a line."""
        limit = self.false_answers
        refusals = [] if self.abstention_ is None or limit is None else self.abstention_.lines(limit)
        return [self.message_, *refusals]

    def engine(self, name: str) -> dict[str, float | int]:
        """Return the parameters of a search request that apply the cut-off.

        Parameters
        ----------
        name : {"elasticsearch", "opensearch", "solr", "vespa"}

        Raises
        ------
        ValueError
            If the engine has no such parameter: for values inside a query, and for scores in Solr and Vespa.
        """
        check_choice("engine", name, ("elasticsearch", "opensearch", "solr", "vespa"))
        if math.isinf(self.threshold_):
            return {}
        sizes = {"solr": "rows", "vespa": "hits"}
        if self.axis_ == "rank":
            return {sizes.get(name, "size"): int(-self.threshold_)}
        if self.axis_ == "score" and name not in sizes:
            return {"min_score": self.threshold_}
        raise ValueError(
            f"{name} has no parameter for the axis {self.axis_}; calibrate with axis='rank' (--axis rank)"
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write the cut-off to a JSON file.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        abstention = self.abstention_
        record = CutoffFile(
            format=FORMAT, miss=self.miss, promise=self.promise_, axis=self.axis_, threshold=self.threshold_,
            n_queries=self.n_queries_, kept=self.kept_, missed=self.missed_, message=self.message_,
            answerable=[] if abstention is None else abstention.answerable.tolist(),
            unanswerable=[] if abstention is None else abstention.unanswerable.tolist(),
            tops=self.tops_.tolist(), false_answers=self.false_answers, ranking=self.ranking_, rel=self.rel,
        )  # fmt: skip
        write_atomically(Path(path), signed(encode(record)))

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Cutoff":
        """Read a cut-off that `save` wrote.

        Raises
        ------
        ModelFormatError
            If the file is no cut-off, or was changed.
        OSError
            If the file cannot be read.
        """
        try:
            content: Any = parse(Path(path).read_bytes())
            if not isinstance(content, dict):
                raise ValueError("it is no object")
            intact = take_signature(content)
            record = CutoffFile.read(content)
            if not intact or record.format != FORMAT:
                raise ValueError("its digest or its format is another")
            cutoff = cls(
                record.miss, promise=record.promise, axis=record.axis, rel=record.rel,
                false_answers=record.false_answers,
            )  # fmt: skip
        except (StrictJSONError, OddValueError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise ModelFormatError(
                f"{path}: not a cut-off as `directrank cutoff` writes it ({error}); calibrate again"
            ) from None
        cutoff.promise_, cutoff.axis_, cutoff.threshold_ = record.promise, record.axis, record.threshold
        cutoff.n_queries_, cutoff.kept_, cutoff.missed_ = record.n_queries, record.kept, record.missed
        cutoff.message_, cutoff.tops_, cutoff.ranking_ = record.message, np.array(record.tops), record.ranking
        tops = np.array(record.answerable), np.array(record.unanswerable)
        cutoff.abstention_ = None if record.false_answers is None else Abstention(*tops)
        return cutoff
