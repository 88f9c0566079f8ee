"""Means and differences of runs for each category of queries."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from directrank.apps.evaluation.significance import (
    ALPHA,
    bootstrap_interval,
    contrasts,
    holm,
    smallest_effect,
)
from directrank.errors import DataError
from directrank.files import ReadOptions, columns_of, read_columns, table_columns

if TYPE_CHECKING:
    from directrank.apps.experiments.results.comparison import Comparison

#: The category of queries without one.
NONE = "(none)"


@dataclass(frozen=True)
class CategoryMean:
    """A run on the queries of one category.

    Attributes
    ----------
    measure, run, category : str
    queries : int
    mean, low, high : float
        The mean of the measure and its 95 % interval, an expanded percentile bootstrap over queries.
    difference, p : float or None
        The mean difference to the baseline, and its p-value of the randomisation test, adjusted by Holm for
        the categories; None without a baseline, and for the baseline itself.
    detectable : float or None
        The smallest difference that these queries show with a probability of 80 %, at the level of Holm's
        first step.

    Examples
    --------
    >>> from directrank import by_category, evaluate_runs
    >>> judged = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}
    >>> runs = {"run": {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}}
    >>> rows = by_category(evaluate_runs(judged, runs, measures=["RR"]), {"q1": "shoes", "q2": "hats"})
    >>> [(row.category, row.mean) for row in rows]
    [('hats', 0.5), ('shoes', 1.0)]
    """

    measure: str
    run: str
    category: str
    queries: int
    mean: float
    low: float
    high: float
    difference: float | None = None
    p: float | None = None
    detectable: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return asdict(self)


def by_category(
    result: "Comparison", categories: Mapping[Any, Any], *, convention: str | None = None
) -> list[CategoryMean]:
    """Return the mean of each run on each category of queries, and its difference to the baseline.

    Parameters
    ----------
    result : Comparison
        Of `evaluate_runs`, or `compare`; a baseline is that of its tests.
    categories : mapping of qid to category
        Queries without a category are one of their own.
    convention : str, optional
        One of the conventions of the result; the first by default.

    Returns
    -------
    list of CategoryMean
        By measure, run, and category, the one of most queries first.

    Raises
    ------
    DataError
        If no query of the result has a category.
    """
    convention = convention or result.conventions[0]
    names = {str(qid): str(category) for qid, category in categories.items()}
    baseline = result.content.tests(convention).baseline
    failed = {cell.method for cell in result.failures}
    runs = [method for method in result.methods if method not in failed]
    qids = [str(qid) for cell in result.of(runs[0]) for qid in cell.qid]
    if not any(qid in names for qid in qids):
        some = next(iter(names), "none")
        raise DataError(f"no query has a category: queries are called {qids[0]!r} and {some!r}, for example")
    of_query = np.array([names.get(qid, NONE) for qid in qids], object)
    found = []
    for measure in result.measures:
        values = {run: result.query_values(convention, measure, run) for run in runs}
        counted = np.isfinite(np.stack([*values.values()])).all(axis=0)
        groups = {name: counted & (of_query == name) for name in sorted({*of_query[counted].tolist()})}
        groups = dict(sorted(groups.items(), key=lambda group: -int(group[1].sum())))
        for run in runs:
            compared = baseline is not None and run != baseline
            rows = []
            for category, which in groups.items():
                low, high = bootstrap_interval(values[run][which][:, None])
                mean = float(values[run][which].mean())
                row = CategoryMean(measure, run, category, int(which.sum()), mean, low.item(), high.item())
                gains = (values[run] - values[str(baseline)])[which] if compared else None
                rows.append((row, gains))
            found += _with_tests(rows, result.is_error(measure)) if compared else [row for row, _ in rows]
    return found


def _with_tests(rows: list[tuple[CategoryMean, Any]], error: bool) -> list[CategoryMean]:
    """Return the rows of one run with the tests of their differences, adjusted for all of them."""
    p = np.array([contrasts(gains[:, None], error)["p_randomisation"].item() for _, gains in rows])
    level = ALPHA / len(rows)
    return [
        replace(
            row,
            difference=float(gains.mean()),
            p=adjusted,
            detectable=smallest_effect(row.queries, level) * float(gains.std(ddof=1))
            if row.queries > 1
            else None,
        )
        for (row, gains), adjusted in zip(rows, holm(p).tolist(), strict=True)
    ]


def query_categories(path: Path, column: str, qid: str | None = None) -> dict[str, str]:
    """Return the category of each query, of a table of queries or of judgments.

    Raises DataError if the table lacks the column, or a query has two categories.
    """
    table_columns(path)  # which refuses a file that is no table
    columns: Any = columns_of(path, ReadOptions(qid=qid, labelled=False, features=()))
    categories: dict[str, str] = {}
    for batch in read_columns(path, {columns.qid: str, column: str}):
        for query, category in zip(
            *(batch.column(name).to_pylist() for name in (columns.qid, column)), strict=True
        ):
            name = NONE if category in (None, "") else category
            if categories.setdefault(query, name) != name:
                both = f"{categories[query]!r} and {name!r}"
                raise DataError(f"{path}: query {query!r} has two values of {column!r}, {both}; write one")
    return categories
