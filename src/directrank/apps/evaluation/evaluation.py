"""Evaluation of scores by measures: the value of each query and the mean, by the conventions of some tool.

A convention changes what is reported, never training or selection: selection on validation data always uses
`standard`.
"""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from directrank.apps.evaluation.unjudged import unjudged_bounds
from directrank.contracts import Measure
from directrank.data.cells import first_rounded, unmasked
from directrank.data.grouping import checked_relevance, group_rows, id_array, refuse_other_order
from directrank.data.queries import Queries, WithQueries
from directrank.data.tabular import Bars, Tabular
from directrank.errors import DataError, check_choice
from directrank.measures import (
    AP,
    DCG,
    DEFAULT_MEASURE,
    P,
    distinct_measures,
    parse_measure,
    ranked_last,
    values_of,
    weighted_mean,
)
from directrank.measures.dcg import GradedGains
from directrank.measures.families.definition import TwoClasses
from directrank.measures.positions import TIES, positions_of

EMPTY = ("zero", "one", "skip")


@dataclass(frozen=True)
class Convention:
    """The decisions of one tool where tools disagree.

    Parameters
    ----------
    name : str
    explanation : str
        One sentence: the tool, and how it differs from `standard`.
    ties : str, default="expected"
        See `positions_of`.
    empty : {"zero", "one", "skip"}, default="zero"
        The value of a query where the measure is undefined; "skip" excludes it from the mean. An error, such
        as WPD, is 0 there under "zero" and "one" alike.
    dcg : str, default="exp-log2"
        The gain and discount of nDCG and its kin, in the words of ``nDCG(dcg=...)``. Measures with another
        gain or discount than the default are not changed.
    ap_at_k : {"relevant", "min"}, default="relevant"
        The denominator of AP@k.
    p_at_k : {"k", "list"}, default="k"
        The denominator of P@k.
    zero_beyond_list : tuple of type
        Measures that are 0 for a query with fewer documents than the cutoff.
    zero_if_empty : tuple of type
        Measures that are 0 without relevant documents even where `empty` is "one".
    score_type : type
        Scores are first rounded to this type, which can tie them.
    """

    name: str
    explanation: str
    ties: str = "expected"
    empty: str = "zero"
    dcg: str = "exp-log2"
    ap_at_k: str = "relevant"
    p_at_k: str = "k"
    zero_beyond_list: tuple[type, ...] = ()
    zero_if_empty: tuple[type, ...] = ()
    score_type: type = np.float64

    def adjusted(self, measure: Measure) -> Measure:
        """Return the measure that this convention computes when asked for `measure`."""
        if isinstance(measure, GradedGains) and not {"dcg", "gains"} & {*measure.printed()}:
            return measure.with_dcg(self.dcg)
        if isinstance(measure, AP) and measure.cutoff and measure.denominator == "relevant":
            return replace(measure, denominator=self.ap_at_k)
        if isinstance(measure, P) and measure.denominator == "k":
            return replace(measure, denominator=self.p_at_k)
        return measure

    def applied(
        self, measure: Measure, values: np.ndarray, undefined: np.ndarray, sizes: np.ndarray, empty: str
    ) -> np.ndarray:
        """Return the printed values of queries under this convention; NaN where excluded from the mean.

        Parameters
        ----------
        measure : Measure
        values, undefined, sizes : ndarray of shape (n_queries,)
            The value of each query, whether it has none, and its number of documents.
        empty : {"zero", "one", "skip"}
        """
        substitute = {"zero": 0.0, "one": 1.0, "skip": np.nan}[empty]
        # An error counts wrong pairs: it is 0 where there are no pairs, however such queries count elsewhere.
        if empty == "one" and (measure.is_error or type(measure) in self.zero_if_empty):
            substitute = 0.0
        values = np.where(undefined, substitute, 1.0 - values if measure.is_error else values)
        if isinstance(measure, self.zero_beyond_list) and measure.cutoff:  # type: ignore[attr-defined]
            values[(sizes < measure.cutoff) & ~np.isnan(values)] = 0.0  # type: ignore[attr-defined]
        return values


#: The presets by name.
CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention(
            "standard",
            "The default: expected values over ties, gain 2^y - 1, discount 1/log2(1 + p), queries without "
            "relevant documents 0.",
        ),
        Convention(
            "letor3",
            "LETOR 3.0's script: ties in file order, discount 1, 1, 1/log2(p); a query with fewer than k "
            "documents counts 0 in the means of nDCG@k and P@k.",
            ties="input",
            dcg="exp-letor",
            zero_beyond_list=(DCG, P),
        ),
        Convention(
            "letor4",
            "LETOR 4.0's script: ties in file order, discount 1, 1, 1/log2(p); a query with fewer than k "
            "documents counts 0 in the mean of nDCG@k, and P@k counts the missing documents as irrelevant.",
            ties="input",
            dcg="exp-letor",
            zero_beyond_list=(DCG,),
        ),
        Convention(
            "trec_eval",
            "trec_eval: linear gain, ties by descending docid, scores rounded to float32.",
            ties="docid",
            dcg="log2",
            score_type=np.float32,
        ),
        Convention(
            "lightgbm",
            "LightGBM: ties in row order, queries without relevant documents 1, AP@k divided by min(R, k).",
            ties="input",
            empty="one",
            ap_at_k="min",
            zero_if_empty=(DCG,),
        ),
        Convention(
            "xgboost",
            "XGBoost: ties in row order, queries without relevant documents 1 (P@k: 0), AP@k divided by "
            "min(R, k) and P@k by at most the length of the list, scores rounded to float32.",
            ties="input",
            empty="one",
            ap_at_k="min",
            p_at_k="list",
            zero_if_empty=(DCG, P),
            score_type=np.float32,
        ),
        Convention(
            "sklearn",
            "scikit-learn's ndcg_score: linear gain, expected value over ties. Its average_precision_score "
            "agrees with AP only where no scores are tied: it treats a tied block as one step.",
            dcg="log2",
        ),
    )
}


def queries_of(relevance, qid, docid) -> Queries:
    """Return the queries of a `QueryGroups`, `Queries` themselves, or those of arrays.

    Raises DataError if lengths differ, there are no documents, or a grade is not a number ≥ 0. Warns if no
    qid is given: all rows count as one query.
    """
    if isinstance(relevance, WithQueries | Queries):
        if qid is not None or docid is not None:
            kind = type(relevance).__name__
            raise DataError(f"documents that come as {kind} have their qid and docid; give no others")
        if isinstance(relevance, Queries):
            return relevance
        if not relevance.labelled:
            raise DataError(f"{relevance!r} has no relevance to evaluate against")
        return relevance.queries
    if isinstance(relevance, str | PathLike):
        raise DataError(f"evaluate takes query groups, not a path: pass load_data({str(relevance)!r})")
    n_docs = len(np.atleast_1d(np.asarray(relevance)))
    if n_docs == 0:
        raise DataError("there are no documents to evaluate")
    if qid is None:
        warnings.warn(
            f"no qid given: all {n_docs} rows are taken as one query. Give qid= to tell queries apart.",
            UserWarning,
            stacklevel=3,
        )
        qid = np.zeros(n_docs, np.int64)
    columns = np.asarray(unmasked(relevance)).T if np.ndim(relevance) == 2 else [relevance]
    grades = np.stack([checked_relevance(column, n_docs) for column in columns], axis=1)
    names = None if docid is None else _shaped("docid has", id_array(docid, "docid"), n_docs, "per row")
    queries, order = group_rows(
        grades.max(axis=1), _shaped("qid has", id_array(qid), n_docs, "per row"), names
    )
    return replace(queries, subtopics=grades[order]) if np.ndim(relevance) == 2 else queries


def checked_scores(
    scores, n_docs: int, score_type: type = np.float64, retrieved: np.ndarray | None = None
) -> np.ndarray:
    """Return scores as floats; those of documents that were not retrieved may be anything.

    Raises DataError if the length is wrong, or a score is NaN or not a number.
    """
    values = _shaped("scores have", np.asarray(unmasked(scores)), n_docs, "score per document")
    if values.dtype.kind not in "biufO":
        raise DataError(f"scores are of type {values.dtype}; expected numbers")
    if (wrong := first_rounded(values)) is not None:
        raise DataError(f"the score of row {wrong[0]} is {wrong[1]}")
    try:
        with np.errstate(over="ignore"):  # beyond float32 is infinite there, as in the tools that use it
            values = values.astype(np.float32 if values.dtype == np.float32 else score_type)
    except (TypeError, ValueError) as error:
        raise DataError(f"scores must be numbers: {error}") from None
    wrong = np.flatnonzero(np.isnan(values) & (True if retrieved is None else retrieved))
    if len(wrong):
        raise DataError(f"the score of row {wrong[0]} is NaN; expected a number for every document")
    return values


def checked_retrieved(retrieved, n_docs: int) -> np.ndarray | None:
    """Return which documents were retrieved as bool (n_docs,), or None for all.

    Raises DataError if the length is wrong or the values are not true or false.
    """
    if retrieved is None:
        return None
    values = _shaped("retrieved has", np.asarray(retrieved), n_docs, "value per document")
    if values.dtype != bool:
        raise DataError(f"retrieved is of type {values.dtype}; expected true or false for each document")
    return None if values.all() else values


def checked_weights(weights, n_queries: int) -> np.ndarray | None:
    """Return weights of queries as float64, or None for equal ones.

    Raises DataError if the length is wrong, a weight is negative or not finite, or all are 0.
    """
    if weights is None:
        return None
    values = _shaped(
        "query_weight has", np.asarray(unmasked(weights), np.float64), n_queries, "weight per query"
    )
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        raise DataError(
            f"the weight of query {wrong[0]} is {values[wrong[0]]}; expected a finite one of 0 or more"
        )
    if not values.any():
        raise DataError("all query weights are 0; expected a positive one")
    return values


def _shaped(what: str, values: np.ndarray, expected: int, unit: str) -> np.ndarray:
    if values.shape != (expected,):
        raise DataError(f"{what} shape {values.shape}, expected ({expected},): one {unit}")
    return values


class Evaluation(Tabular, Mapping[str, float]):
    """Means of measures over queries, by canonical name.

    Parameters
    ----------
    means : dict of str to float
        The mean under each name.
    computed : dict of str to Measure
        The measure computed under each name; a convention, or the data, may have set its parameters.
    queries : Queries
        The queries.
    rules : Convention
        The convention.
    per_query : dict of str to ndarray of shape (n_queries,), or None
        The values of each query, with ``per_query=True``; NaN where excluded from the mean.
    unjudged : dict of str to ndarray of shape (2,), or None
        With ``unjudged=True``, the least and the largest possible mean over grades of unjudged documents.
    all_tied : bool, default=False
        Whether the scores of every query are all equal.

    Attributes
    ----------
    convention : str
        The name of the convention.
    n_queries, n_empty : int
        The number of queries, and of those without a relevant document.
    ties, empty : str
        How ties and queries without a value are counted.
    qid : ndarray of shape (n_queries,)
        Queries in the order of their first row.
    all_tied : bool
        Whether the scores of every query are all equal, so that ties alone decide.

    Examples
    --------
    >>> from directrank import evaluate
    >>> result = evaluate([1, 0, 0, 2], [0.3, 0.2, 0.9, 0.5], list("aabb"), measures="AP", per_query=True)
    >>> result["AP"], result.per_query["AP"].tolist()
    (0.75, [1.0, 0.5])
    """

    def __init__(self, means, computed, queries, rules: Convention, per_query, unjudged, all_tied=False):
        self._means: dict[str, float] = means
        self.computed: dict[str, Measure] = computed
        self.convention, self.ties, self.empty = rules.name, rules.ties, rules.empty
        self.n_queries = queries.n_queries
        self.n_empty = int((queries.n_positive == 0).sum())
        self.qid = queries.qid
        self.per_query: dict[str, np.ndarray] | None = per_query
        self.unjudged: dict[str, np.ndarray] | None = unjudged
        self.all_tied: bool = all_tied

    def __getitem__(self, name: str) -> float:
        return self._means[name] if name in self._means else self._means[parse_measure(name).name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def _title(self) -> str:
        tied = f"; the scores of every query are all equal (ties {self.ties})" * self.all_tied
        noun = "query" if self.n_queries == 1 else "queries"
        return (
            f"{self.n_queries} {noun}, {self.n_empty} of them without a relevant document; "
            f"convention {self.convention}{tied}"
        )

    def _table(self) -> dict[str, Any]:
        if self.per_query is not None:
            return {"qid": self.qid, **self.per_query}
        return self._of_means()

    def _of_means(self) -> dict[str, Any]:
        table: dict[str, Any] = {"measure": [*self._means], "mean": [*self._means.values()]}
        if self.unjudged is not None:
            for at, end in enumerate(("least", "largest")):
                table[end] = [float(self.unjudged[name][at]) for name in self._means]
        return table

    def _first_rows(self) -> tuple[dict[str, Any], int]:
        return self._of_means(), 0

    def _bars(self) -> Bars:
        ends = None if self.unjudged is None else [tuple(self.unjudged[name]) for name in self._means]
        return Bars("mean over queries", [*self._means], [*self._means.values()], ends)

    def __repr__(self) -> str:
        width = max(map(len, self._means), default=0)
        lines = [self._title()]
        for name, mean in self._means.items():
            full = self.computed[name].name
            line = f"{name:<{width}}  {mean:.4f}" + (f"  as {full}" if full != name else "")
            if self.unjudged is not None:
                line += "  from {:.4f} to {:.4f} if unjudged documents were judged".format(
                    *self.unjudged[name]
                )
            lines.append(line)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; None where a query is excluded."""
        result: dict[str, Any] = {
            "convention": self.convention,
            "ties": self.ties,
            "empty": self.empty,
            "n_queries": self.n_queries,
            "n_empty": self.n_empty,
            "measures": dict(self._means),
            "computed": {name: measure.name for name, measure in self.computed.items()},
        }
        if self.unjudged is not None:
            result["unjudged"] = {name: interval.tolist() for name, interval in self.unjudged.items()}
        if self.per_query is not None:
            result["qid"] = self.qid.tolist()
            result["per_query"] = {
                name: [None if math.isnan(value) else value for value in values.tolist()]
                for name, values in self.per_query.items()
            }
        return result


def evaluate(
    relevance,
    scores,
    qid=None,
    *,
    measures: str | Measure | Sequence[str | Measure] = (DEFAULT_MEASURE, "AP"),
    convention: str = "standard",
    ties: str | None = None,
    empty: str | None = None,
    per_query: bool = False,
    query_weight=None,
    docid=None,
    max_grade: float | None = None,
    retrieved=None,
    unjudged: bool = False,
) -> Any:
    """Evaluate scores against relevance.

    Parameters
    ----------
    relevance : QueryGroups, Queries, or array of shape (n_docs,) or (n_docs, n_subtopics)
        Labelled documents; or their grades, finite and not negative. Columns are subtopics of queries, which
        ``alpha_nDCG@k``, ``ERR_IA@k`` and ``StRec@k`` read; for other measures the largest grade of a row is
        the relevance of the document.
    scores : array of shape (n_docs,), or mapping of str to such arrays
        One per document, in the caller's row order; larger is better. May be infinite, but not NaN. Several
        rankings of the same documents are given by name; `directrank.paired_test` compares two of them.
    qid : array of shape (n_docs,), optional
        The query of each row, where `relevance` is an array.
    measures : str, Measure, or a sequence of them
        Such as ``["AP", "nDCG@10"]``; see `parse_measure`. A measure of your own is an object.
    convention : str, default="standard"
        One of `CONVENTIONS`: standard, letor3, letor4, trec_eval, lightgbm, xgboost, sklearn.
    ties : {"expected", "input", "worst", "best", "docid"}, optional
        Overrides the convention's rule.
    empty : {"zero", "one", "skip"}, optional
        The value of a query where a measure is undefined; overrides the convention's rule. Errors (WPD,
        ZeroOne) are 0 there under "zero" and "one" alike.
    per_query : bool, default=False
        Whether to return the value of each query.
    query_weight : array of shape (n_queries,), optional
        Weights of the mean, in the order in which queries first appear.
    docid : array of shape (n_docs,), optional
        Names of documents, where `relevance` is an array; they break ties with ``ties="docid"``.
    max_grade : float, optional
        The largest grade of the whole data set, for ERR without ``max=``; by default the largest here.
    retrieved : array of bool, shape (n_docs,), optional
        Which documents the ranking holds; all by default. The scores of the others are not read. As in
        trec_eval, such documents add nothing to a measure, while relevant ones count in what it is divided
        by. WPD and ZeroOne rank them last, tied.
    unjudged : bool, default=False
        Whether to return the least and the largest possible mean if the documents without a judgment that the
        ranking holds had any grades from 0 to the largest. Only queries from qrels have such documents.

    Returns
    -------
    Evaluation, or dict of str to Evaluation
        A dict if the scores are given by name.

    Raises
    ------
    DataError
        If lengths differ, a score is NaN, or no query is left to average; with `unjudged`, if the bounds of a
        measure are not known, or depend on `ties` or `empty`.
    MeasureNameError
        If a measure's name is unknown.

    Examples
    --------
    >>> result = evaluate([1, 0, 0, 2], [0.3, 0.2, 0.9, 0.5], ["a", "a", "b", "b"], measures="AP")
    >>> result["AP"]
    0.75
    """
    check_choice("convention", convention, CONVENTIONS)
    rules = CONVENTIONS[convention]
    rules = replace(rules, ties=ties or rules.ties, empty=empty or rules.empty)
    check_choice("ties", rules.ties, TIES)
    check_choice("empty", rules.empty, EMPTY)
    if not isinstance(relevance, WithQueries | Queries):
        items = scores.items() if isinstance(scores, Mapping) else ()
        rankings = {f"scores[{name!r}]": run for name, run in items} or {"scores": scores}
        columns = {"relevance": relevance, "qid": qid, "docid": docid, "retrieved": retrieved}
        refuse_other_order(columns | rankings)
    queries = queries_of(relevance, qid, docid)
    if rules.ties == "docid" and queries.docid is None:
        warnings.warn(
            "documents have no docid, so ties are broken by descending row; give document ids instead",
            UserWarning,
            stacklevel=2,
        )
    asked = distinct_measures(measures)
    diverse = [measure.name for measure in asked if measure.reads_subtopics]
    if diverse and queries.subtopics is None:
        warnings.warn(
            f"{diverse[0]}: the judgments have no subtopics, so relevance counts as the only one of each "
            "query; give diversity qrels: query subtopic document grade",
            UserWarning,
            stacklevel=2,
        )
    grade = queries.max_relevance if max_grade is None else max_grade
    adjusted = {measure.name: rules.adjusted(measure) for measure in asked}
    computed = {name: measure.with_largest_grade(grade) for name, measure in adjusted.items()}
    largest = queries.max_relevance
    for measure in computed.values():
        if isinstance(measure, TwoClasses) and largest > 0 and not measure.n_relevant(queries).any():
            # A power of 2 is the same for most folds of a collection, which then warn once.
            lower = replace(measure, rel=2.0 ** math.floor(math.log2(largest)))
            warnings.warn(
                f"{measure.name}: no document has a grade of {measure.rel:g} or more, which it counts as "
                f"relevant; name a lower grade, such as {lower.name}",
                UserWarning,
                stacklevel=2,
            )
    if same := [measure for measure in computed.values() if _are_all_relevant(measure, queries)]:
        first: Any = same[0]
        higher = f"name a higher grade, such as {replace(first, rel=largest).name}, or "
        warnings.warn(
            f"{', '.join(measure.name for measure in same)}: every document has a grade of {first.rel:g} or "
            "more, which counts as relevant, so that all orders have the same value; "
            f"{higher * (largest > first.rel)}judge documents that are not relevant too",
            UserWarning,
            stacklevel=2,
        )
    weights = checked_weights(query_weight, queries.n_queries)
    is_retrieved = checked_retrieved(retrieved, queries.n_docs)
    if unjudged and (rules.empty != "zero" or rules.ties in ("worst", "best")):
        raise DataError(
            "bounds over unjudged documents need empty='zero' and ties that do not read grades; "
            f"{rules.name} has empty={rules.empty!r} and ties={rules.ties!r} here"
        )

    def evaluated(run_scores) -> Evaluation:
        inner, present = _inner(queries, run_scores, is_retrieved, rules)
        values = _values(queries, inner, present, computed, rules)
        means = {name: _mean_of_counted(name, query_values, weights) for name, query_values in values.items()}
        bounds = None
        if unjudged:
            every = np.ones(queries.n_docs, bool) if present is None else present
            positions = positions_of(queries, inner, ties=rules.ties, retrieved=present)
            bounds = {
                name: np.array([weighted_mean(query_values, weights) for query_values in both])
                for name, both in unjudged_bounds(
                    computed, queries, positions, every, grade,
                    lambda graded, asked: _values(
                        graded, *_inner(graded, run_scores, is_retrieved, rules), asked, rules
                    ),
                ).items()
            }  # fmt: skip
        all_tied = _are_tied(queries, inner, present)
        return Evaluation(means, computed, queries, rules, values if per_query else None, bounds, all_tied)

    if isinstance(scores, Mapping):
        return {name: evaluated(run) for name, run in scores.items()}
    return evaluated(scores)


def _values(
    queries: Queries,
    inner: np.ndarray,
    retrieved: np.ndarray | None,
    computed: Mapping[str, Measure],
    rules: Convention,
) -> dict[str, np.ndarray]:
    """Return the values of queries by name, NaN where excluded, of what `_inner` returns."""
    by_measure = values_of(list(computed.values()), queries, inner, ties=rules.ties, retrieved=retrieved)
    values = {
        name: rules.applied(measure, query_values, measure.undefined(queries), queries.sizes, rules.empty)
        for (name, measure), query_values in zip(computed.items(), by_measure, strict=True)
    }
    if retrieved is not None and rules.empty == "one":
        # The tools give 1 to a query that they rank; one that the run lacks counts 0.
        lacking = queries.count(retrieved) == 0
        for name, measure in computed.items():
            values[name][lacking & measure.undefined(queries)] = 0.0
    return values


def _inner(
    queries: Queries, scores, is_retrieved: np.ndarray | None, rules: Convention
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return scores, and which documents are retrieved, in the inner order; arguments are in row order."""
    inner = checked_scores(scores, queries.n_docs, rules.score_type, is_retrieved)[queries.row]
    if is_retrieved is None:
        return inner, None
    retrieved = is_retrieved[queries.row]
    return ranked_last(queries, inner, retrieved), retrieved


def _are_all_relevant(measure: Measure, queries: Queries) -> bool:
    """Whether a measure that reads the order counts all documents as relevant, two or more of a query."""
    if not isinstance(measure, TwoClasses) or measure.unretrieved == "counted" or queries.longest < 2:
        return False
    return bool((measure.n_relevant(queries) == queries.sizes).all())


def _are_tied(queries: Queries, scores: np.ndarray, retrieved: np.ndarray | None) -> bool:
    """Whether the scores of every query are all equal, of which one has two documents or more."""
    counted = np.ones(queries.n_docs, bool) if retrieved is None else retrieved
    starts = queries.indptr[:-1]
    least = np.minimum.reduceat(np.where(counted, scores, np.inf), starts)
    largest = np.maximum.reduceat(np.where(counted, scores, -np.inf), starts)
    return bool((least >= largest).all() and (queries.count(counted) > 1).any())


def _mean_of_counted(name: str, values: np.ndarray, weights: np.ndarray | None) -> float:
    counted = ~np.isnan(values)
    counted_weights = None if weights is None else weights[counted]
    if not counted.any() or (counted_weights is not None and not counted_weights.any()):
        raise DataError(f"{name} is undefined for every query; there is no mean with empty='skip'")
    return weighted_mean(values[counted], counted_weights)
