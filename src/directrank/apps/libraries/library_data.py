"""Objectives and measures on the data sets of a library, for people who call it themselves."""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from directrank.contracts import Measure, Surrogate, check_fit
from directrank.data.groups import QueryGroups
from directrank.errors import DataError
from directrank.estimators.inputs import query_weights
from directrank.estimators.methods import configured
from directrank.features.shards import make_shards, processors
from directrank.measures import mean_value, parse_measure
from directrank.solvers.trees.derivatives import Derivatives
from directrank.solvers.trees.tree_boosting import TreeBoosting
from directrank.surrogates import Objective

#: Bits of a rounded number, as many as float32 has.
BITS = 24


class Labelled(NamedTuple):
    """What a library's data set says of its rows, in consecutive queries of these sizes; None: nothing."""

    relevance: Any
    sizes: Any
    weights: Any
    n_features: int


#: What a library hands to an objective: a DMatrix of XGBoost, a Dataset of LightGBM, or their arrays.
TrainingSet = Any
Look = Callable[[TrainingSet], Labelled]


def gradients_for(
    spec: str | Surrogate, look: Look, groups: object, weights: object, n_jobs: int | None, parameters: dict
) -> Callable[[np.ndarray, TrainingSet], tuple[np.ndarray, np.ndarray]]:
    """Return the function of scores and a data set that returns gradient and curvature of each row.

    Queries (`QueryGroups`, or the query of each row) and weights are by default those that `look` reads.
    """
    surrogate = surrogate_of(spec, parameters)
    objectives: WeakKeyDictionary = WeakKeyDictionary()

    def derive(scores: np.ndarray, data: TrainingSet) -> tuple[np.ndarray, np.ndarray]:
        if data not in objectives:
            labelled = look(data)
            rows = rows_of(labelled, groups)
            row_weights = labelled.weights if weights is None else weights
            per_query = None if row_weights is None else query_weights(row_weights, rows)
            shards = make_shards(rows.queries.indptr, labelled.n_features)
            n_threads = processors() if n_jobs in (None, -1) else n_jobs
            objective = Objective(
                surrogate, rows.queries, shards, weights=per_query, normalise=False, n_threads=n_threads
            )
            objectives[data] = rows, Derivatives(objective)
        rows, derivatives = objectives[data]
        _, gradient, curvature = derivatives(rows.to_inner(np.asarray(scores)))
        return rows.to_caller(on_a_grid(gradient)), rows.to_caller(on_a_grid(curvature))

    return derive


def on_a_grid(values: np.ndarray) -> np.ndarray:
    """Return values rounded to multiples of one power of two, the 2⁻²³ of the largest, as float32.

    The libraries add them up in float64. Sums of such numbers are exact, in whatever order threads add them.
    """
    largest = float(np.abs(values).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return values.astype(np.float32)
    unit = 2.0 ** (np.ceil(np.log2(largest)) - BITS + 1)
    return (np.rint(values / unit) * unit).astype(np.float32)


def values_for(
    measure: str | Measure, look: Look, groups: object
) -> Callable[[np.ndarray, TrainingSet], tuple[str, float]]:
    """Return the function of scores and a data set that returns a measure's name and mean over queries."""
    chosen, queries_of = parse_measure(measure), WeakKeyDictionary()

    def judge(scores: np.ndarray, data: TrainingSet) -> tuple[str, float]:
        if data not in queries_of:
            queries_of[data] = rows_of(look(data), groups)
        rows = queries_of[data]
        scores = rows.to_inner(np.asarray(scores, np.float64))
        return chosen.name, mean_value(chosen, rows.queries, scores)

    return judge


def surrogate_of(spec: str | Surrogate, parameters: dict) -> Surrogate:
    """Return the surrogate of a method, or a given one.

    Raises UnfitPairError if it has no gradient or curvature, ValueError if there is no such method.
    """
    if isinstance(spec, str):
        (chosen,) = configured(spec)
        surrogate = chosen.build(parameters).components()[0]
    else:
        surrogate = spec
    check_fit(surrogate, TreeBoosting())
    return surrogate


def rows_of(labelled: Labelled, groups: object) -> QueryGroups:
    """Return the queries of a data set's rows.

    Raises DataError if there are none, or they have another number of rows.
    """
    if isinstance(groups, QueryGroups):
        n_docs = groups.n_docs if labelled.relevance is None else len(labelled.relevance)
        if n_docs != groups.n_docs:
            raise DataError(f"groups has {groups.n_docs} rows, the data set has {n_docs}")
        return groups
    if labelled.relevance is None:
        raise DataError("the data set has no relevance: give it label=…, or pass QueryGroups as groups")
    if groups is None and (labelled.sizes is None or not len(labelled.sizes)):
        raise DataError("the data set has no queries: give it group=… or qid=…, or pass the qid of each row")
    qid = np.repeat(np.arange(len(labelled.sizes)), labelled.sizes) if groups is None else groups
    return QueryGroups(np.zeros((len(labelled.relevance), 1), np.float32), labelled.relevance, qid)
