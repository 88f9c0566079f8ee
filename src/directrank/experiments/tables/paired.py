"""One test of two rankings, on the values of the same queries."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from directrank.errors import DataError
from directrank.experiments.tables.significance import contrasts
from directrank.measures import parse_measure
from directrank.measures.evaluation.evaluate import Evaluation


@dataclass(frozen=True)
class PairedTest:
    """The difference between two rankings, and whether it may be chance.

    Attributes
    ----------
    queries : int
        Number of queries that have a value under both.
    difference : float
        Mean of the first minus mean of the second.
    low, high : float
        95 % interval of the difference: percentile bootstrap over queries.
    p : float
        Two-sided p-value of Fisher's randomisation test, the one `directrank.compare` uses.
    p_t : float
        Two-sided p-value of Student's paired t-test.
    effect : float
        The difference in units of the standard deviation of the queries' differences.
    wins, ties, losses : int
        Queries on which the first is better, equal, worse.

    Examples
    --------
    >>> from directrank import paired_test
    >>> found = paired_test([0.5, 0.25, 1.0, 0.75], [0.25, 0.25, 0.5, 0.5])
    >>> found.difference, found.wins, found.losses
    (0.25, 3, 0)
    """

    queries: int
    difference: float
    low: float
    high: float
    p: float
    p_t: float
    effect: float
    wins: int
    ties: int
    losses: int


def paired_test(a, b, *, measure: str | None = None) -> PairedTest:
    """Test whether two rankings of the same queries differ.

    Parameters
    ----------
    a, b : Evaluation, or array of shape (n_queries,)
        From `directrank.evaluate` with ``per_query=True``; or the values of the queries, in one order. A
        query with NaN in either is left out.
    measure : str, optional
        The measure to compare, where `a` and `b` have several. With arrays it says whether smaller is better,
        as for WPD.

    Returns
    -------
    PairedTest

    Raises
    ------
    DataError
        If the queries differ, or none has a value under both.
    ValueError
        If there are no values of queries, or several measures and none is named.

    Examples
    --------
    >>> test = paired_test([0.5, 0.75, 1.0], [0.25, 0.5, 0.75])
    >>> test.difference, test.p
    (0.25, 0.25)
    """
    evaluated = [each for each in (a, b) if isinstance(each, Evaluation)]
    name = measure or next(map(_only_measure, evaluated), None)
    if isinstance(a, Evaluation) and isinstance(b, Evaluation) and not np.array_equal(a.qid, b.qid):
        raise DataError("the two evaluations have different queries; evaluate both on the same data")
    values = [_values(each, name) for each in (a, b)]
    if values[0].ndim != 1 or values[0].shape != values[1].shape:
        raise DataError(f"values have shapes {values[0].shape} and {values[1].shape}; expected one a query")
    differences = values[0] - values[1]
    differences = differences[np.isfinite(differences)]
    if not len(differences):
        raise DataError("no query has a value in both; there is nothing to compare")
    found = contrasts(differences[:, None], name is not None and _is_error(name, evaluated))
    numbers: dict[str, Any] = {name: column.item() for name, column in found.items()}
    p = numbers.pop("p_randomisation")
    return PairedTest(queries=len(differences), p=p, **numbers)


def _is_error(name: str, evaluated: list[Evaluation]) -> bool:
    known = next((each.computed[name] for each in evaluated if name in each.computed), None)
    return parse_measure(known or name).is_error


def _only_measure(evaluation: Evaluation) -> str:
    names = [*evaluation]
    if len(names) != 1:
        raise ValueError(f"there are several measures; give measure= one of {', '.join(names)}")
    return names[0]


def _values(given: Any, measure: str | None) -> np.ndarray:
    if not isinstance(given, Evaluation):
        return np.asarray(given, float)
    if given.per_query is None:
        raise ValueError("the evaluation has no values of queries; call evaluate(..., per_query=True)")
    name = measure if measure in [*given] else parse_measure(str(measure)).name
    if name not in given.per_query:
        raise ValueError(f"{name} was not evaluated; expected one of {', '.join(given)}")
    return given.per_query[name]
