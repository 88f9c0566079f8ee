"""Compare a model's loss with its bounds and approximations, query by query."""

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from directrank.contracts import Measure
from directrank.data.groups import QueryGroups, as_groups
from directrank.errors import DataError, MeasureNameError
from directrank.measures import parse_measure
from directrank.measures.positions import positions_of
from directrank.storage.strict_json import JSONObject
from directrank.surrogates import SURROGATES
from directrank.surrogates.oracles import AuditRow

# A bound may fall short of the loss by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Summary:
    """One bound or approximation over all queries.

    Attributes
    ----------
    name, kind : str
    mean : float
        Of its values.
    distance : float
        Mean of value − (1 − E); of an approximation, of its absolute value.
    largest : float
        The largest such distance.
    loosest : str
        The query with the largest distance.
    error : float
        Mean of the proved limits: for an approximation, of its distance; for a bound, of the maximum over all
        rankings minus the value, which one ranking attains. NaN without a theorem.
    holds : bool or None
        Whether a bound lies above the loss on every query; None for an approximation.
    """

    name: str
    kind: str
    mean: float
    distance: float
    largest: float
    loosest: str
    error: float
    holds: bool | None


@dataclass(frozen=True)
class Audit:
    """A model's loss, and its bounds and approximations.

    Attributes
    ----------
    measure : str
    qid : list of str
        The audited queries.
    loss : ndarray of shape (n_queries,)
        1 − E of each query, expected over ties.
    rows : list of AuditRow
    left_out : list of str
        Queries that are not audited: the measure is the same for every ranking.
    """

    measure: str
    qid: list[str]
    loss: np.ndarray
    rows: list[AuditRow]
    left_out: list[str]

    def summaries(self) -> list[Summary]:
        """Return one summary a row, in the order of `rows`."""
        result = []
        for row in self.rows:
            distance = row.values - self.loss
            size = distance if row.is_bound else np.abs(distance)
            at, errors = int(np.argmax(size)), row.error[~np.isnan(row.error)]
            summary = Summary(
                row.name, row.kind, float(row.values.mean()), float(size.mean()), float(size[at]),
                self.qid[at], float(errors.mean()) if len(errors) else float("nan"),
                bool((distance >= -ROUNDING).all()) if row.is_bound else None,
            )  # fmt: skip
            result.append(summary)
        return result

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of text, with a row for each kind above its own."""
        head = ["", "mean", "distance", "largest", "on query", "error", "holds"]
        lines = [["1 - E, the loss", f"{self.loss.mean():.4f}", *5 * [""]]]
        for kind, summaries in groupby(self.summaries(), key=lambda summary: summary.kind):
            lines.append([f"{kind}:", *6 * [""]])
            for summary in summaries:
                holds = "" if summary.holds is None else "yes" if summary.holds else "NO"
                bounded = f"≤ {summary.error:.1e}" if summary.error else "exact"
                numbers = [f"{number:.4f}" for number in (summary.mean, summary.distance, summary.largest)]
                error = "no theorem" if np.isnan(summary.error) else bounded
                lines.append([f"  {summary.name}", *numbers, summary.loosest, error, holds])
        return head, lines

    def to_json(self) -> JSONObject:
        """Return plain data: the summaries and every query's values."""
        rows = [
            {**vars(summary), "error": None if np.isnan(summary.error) else summary.error,
             "per_query": row.values.tolist()}
            for summary, row in zip(self.summaries(), self.rows, strict=True)
        ]  # fmt: skip
        return {
            "measure": self.measure,
            "n_queries": len(self.qid),
            "left_out": self.left_out,
            "loss": {"mean": float(self.loss.mean()), "per_query": self.loss.tolist()},
            "rows": rows,
            "qid": self.qid,
        }


def audit(ranker, groups: QueryGroups, measure: "str | Measure | None" = None) -> Audit:
    """Compare the loss of a trained model with its bounds and approximations.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    groups : QueryGroups
        With relevance.
    measure : str or Measure, optional
        By default the measure that the ranker trains, or else the one by which it selects.

    Returns
    -------
    Audit

    Raises
    ------
    DataError
        If the measure is the same for every ranking of each query.

    Notes
    -----
    Every registered surrogate adds its rows; if all lists are short, one row enumerates their rankings.
    Bounds depend on the scale of the scores: type-two bounds have a margin in score units, and smoothing has
    a steepness in inverse score units.
    """
    groups = as_groups(groups, "audit")
    if measure is None:
        trained_for = ranker.get_params(deep=False).get("measure") or getattr(
            ranker, "selection_measure_", ranker.selected_by_
        )
        try:
            measure = parse_measure(trained_for)
        except MeasureNameError:
            raise MeasureNameError(
                f"the model was trained by {trained_for}, a measure without a name here: load the plug-in "
                "that has it (--plugin FILE.py), or name another measure"
            ) from None
    return audit_scores(ranker.predict(groups), groups, measure)


def audit_scores(scores: np.ndarray, groups: QueryGroups, measure: "str | Measure") -> Audit:
    """Audit any scores, (n_docs,) in the caller's row order; see `audit`."""
    chosen = parse_measure(measure)
    constant = chosen.uninformative(groups.queries)
    if constant.all():
        raise DataError(f"nothing to audit: {chosen.name} is the same for every ranking of each query")
    queries, rows = groups.queries.chosen(~constant)
    scores = groups.to_inner(scores)[rows].astype(np.float64)
    values = chosen.query_values(queries, positions_of(queries, scores))
    all_rows = [row for cls in SURROGATES for row in cls.audit_rows(chosen, queries, scores)]
    left_out = [str(qid) for qid in groups.queries.qid[constant]]
    return Audit(chosen.name, [str(qid) for qid in queries.qid], 1.0 - values, all_rows, left_out)
