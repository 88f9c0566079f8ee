"""A ranker as trees alone, weighted features as steps, or learned trees."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from directrank.apps.engines.function import Categories, Function, Term
from directrank.data import QueryGroups
from directrank.errors import DataError, listed
from directrank.estimators import Ranker
from directrank.scorers import Trees
from directrank.scorers.trees import LEAF, TO_THE_LEFT
from directrank.solvers import TreeBoosting
from directrank.surrogates import SquaredError

#: Leaves of the trees of all weighted features together, and of one feature.
STEPS, OF_A_FEATURE = 4096, 1024
#: The share of queries that are held out to measure what is lost, and the fewest queries of which some are.
HELD_OUT, FEWEST = 0.2, 10
#: Of trees that learn scores.
ROUNDS, LEAVES = 500, 31


def held_out(groups: QueryGroups) -> tuple[QueryGroups, QueryGroups]:
    """Return the queries to distil on, and those on which the loss is measured.

    Raises
    ------
    DataError
        If there are too few queries.
    """
    n = groups.n_queries
    if n < FEWEST:
        raise DataError(
            f"{n} queries to distil on, too few to hold some out: give {FEWEST} or more, or other documents "
            "by --check (in Python, check=)"
        )
    chosen = np.zeros(n, bool)
    chosen[np.random.default_rng(0).permutation(n)[: int(HELD_OUT * n)]] = True
    return groups.select(~chosen), groups.select(chosen)


def learned(
    ranker: Ranker, names: tuple[str, ...], categories: Categories, groups: QueryGroups, rows: np.ndarray
) -> tuple[Function, str]:
    """Return trees that learn the scores of a ranker on some documents, and what was done."""
    trees = _grown_trees(rows, ranker.predict(groups), groups.qid)
    note = f"{trees.n_trees} trees learned the scores of the ranker."
    return Function(names, (), trees, categories=categories), note + _unread(names, rows, range(len(names)))


def stepped(function: Function, rows: np.ndarray) -> tuple[Function, str]:
    """Return a function whose weighted features are steps between the values of rows, and what was done.

    Its own trees stay.
    """
    by_feature: dict[int, list[Term]] = {}
    for term in function.weighted:
        by_feature.setdefault(term.feature, []).append(term)
    steps = _steps(by_feature, rows)
    trees = Trees.concatenate([function.trees, *steps])
    count = sum(int((tree.left == LEAF).sum()) for tree in steps)
    name = function.names[min(by_feature)]
    note = f"{len(by_feature)} weighted features, such as {name!r}, became {count} steps."
    note += _unread(function.names, rows, by_feature)
    return replace(function, terms=(), trees=trees), note


def _unread(names: tuple[str, ...], rows: np.ndarray, features: Iterable[int]) -> str:
    """Return a sentence on the features of which the documents have one value."""
    single = [repr(names[at]) for at in features if len(np.unique(rows[:, at][~np.isnan(rows[:, at])])) < 2]
    if not single:
        return ""
    return f" The trees do not read {listed(single)}: the documents have one value there."


def _steps(by_feature: dict[int, list[Term]], rows: np.ndarray) -> list[Trees]:
    """Return a tree of each feature, whose leaves are means of what its terms add.

    Leaves are divided among features so that the sum of their squared errors is least, where an error falls
    with the square of the number of leaves.
    """
    columns = {}
    for feature, terms in by_feature.items():
        values, counts = np.unique(rows[:, feature][~np.isnan(rows[:, feature])], return_counts=True)
        columns[feature] = values, counts, _added(terms, values)
    spread = {
        feature: float(np.sqrt(np.cov(added, fweights=counts))) if len(values) > 1 else 0.0
        for feature, (values, counts, added) in columns.items()
    }
    total = sum(size ** (2 / 3) for size in spread.values())
    trees = []
    for feature, (values, counts, added) in columns.items():
        share = spread[feature] ** (2 / 3) / total if total else 0.0
        most = min(max(2, int(STEPS * share)), OF_A_FEATURE, len(values))
        missing = _added(by_feature[feature], np.array([np.nan], np.float32))[0]
        trees.append(_tree(feature, values, counts, added, most, missing))
    return trees


def _added(terms: list[Term], values: np.ndarray) -> np.ndarray:
    """Return what terms of one feature add for some values of it."""
    total = np.zeros(len(values))
    for term in terms:
        x = values.astype(float)
        x = np.where(np.isnan(x), 0.0 if term.fill is None else term.fill, x)
        total += term.weight * (np.sign(x) * np.log1p(np.abs(x)) if term.logarithm else x)
    return total


def _tree(
    feature: int, values: np.ndarray, counts: np.ndarray, added: np.ndarray, most: int, missing: float
) -> Trees:
    """Return a balanced tree over the values of a feature, with about so many leaves.

    Leaves have equal shares of documents and of changes in the sum, each counting half. A missing value
    goes to the leaf whose value is nearest to what it adds.
    """
    if not len(values):
        return Trees.constant(missing)
    change = np.concatenate(([0.0], np.abs(np.diff(added)).cumsum()))
    place = counts.cumsum() / counts.sum() + change / (change[-1] or 1.0)
    if most >= len(values):
        first = np.arange(len(values))
    else:
        first = np.unique(np.searchsorted(place, np.arange(most) * (2.0 / most), side="left"))
        first = np.union1d(first[first < len(values)], [0])
    ends = [*pairwise([*first.tolist(), len(values)])]
    leaf = np.array([np.average(added[a:b], weights=counts[a:b]) for a, b in ends])
    to = int(np.argmin(np.abs(leaf - missing)))
    nodes: list[list[float]] = []

    def grow(low: int, high: int) -> None:
        at = len(nodes)
        nodes.append([0.0, 0.0, LEAF, LEAF, float(leaf[low])])
        if high - low == 1:
            return
        middle = (low + high) // 2
        below, above = values[first[middle] - 1], values[first[middle]]
        threshold = np.float32((float(below) + float(above)) / 2)
        nodes[at][:2] = [float(threshold if below <= threshold < above else below), float(to < middle)]
        nodes[at][2] = len(nodes)
        grow(low, middle)
        nodes[at][3], nodes[at][4] = len(nodes), 0.0
        grow(middle, high)

    grow(0, len(leaf))
    threshold, missing_left, left, right, value = np.array(nodes).T
    return Trees(
        np.zeros(1, np.int64), np.where(left == LEAF, 0, feature).astype(np.int32),
        threshold.astype(np.float32), (missing_left * TO_THE_LEFT).astype(np.int32),
        left.astype(np.int32), right.astype(np.int32), value, np.zeros(len(nodes)),
    )  # fmt: skip


def _grown_trees(rows: np.ndarray, scores: np.ndarray, qid: np.ndarray) -> Trees:
    """Return trees grown on the squared error of scores."""
    spread = float(scores.std()) or 1.0
    targets = QueryGroups(rows, (scores - scores.min()) / spread, qid)
    solver = TreeBoosting(rounds=ROUNDS, leaves=LEAVES, keep="last")
    return Ranker(SquaredError(), solver, Trees()).fit(targets).scorer_.times(spread)
