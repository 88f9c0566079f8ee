r"""What each feature adds to the difference of two scores: Shapley values.

A hybrid of documents x and b has the features S of x and the others of b. The contribution of feature k to
f(x) − f(b) is the change of f(hybrid) when k enters S, in the mean over all orders in which the features of x
enter. Contributions add up to the difference; a feature that x and b share, or that f does not read, adds 0;
those of b against x are their negatives. Against several documents they are means, which are also known as
interventional SHAP values [1]_. They are exact, and need no statistics of the training set.

In trees that split sets of categories the features of one column enter together. Their
contribution is that of the feature that is 1 in x.

References
----------
.. [1] S. Lundberg et al., "From local explanations to global understanding with explainable AI for trees",
   Nature Machine Intelligence 2020, Algorithm 3.
"""

from typing import Any

import numpy as np

from directrank.errors import DataError
from directrank.features.statistics import filled, scaled_inside_queries
from directrank.kernels.compile import kernel
from directrank.scorers.ensemble import StandardisedMean, Sum, mean_deviation, scores_in_queries
from directrank.scorers.linear import LINEAR, LogLinear, QueryLinear
from directrank.scorers.set_trees import SetTrees
from directrank.scorers.trees import LEAF, Additive, Trees, goes_left


def contributions(
    scorer: Any, features: np.ndarray, rows: np.ndarray, against: np.ndarray, indptr: np.ndarray
) -> np.ndarray:
    """Return what each feature adds to score − mean score of other documents, float64 (n_rows, n_features).

    Parameters
    ----------
    scorer : Scorer
    features : ndarray of shape (n_docs, n_features), float32, or as the scorer's `feature_dtype`
    rows : ndarray of shape (n_rows,), int64
        The documents to explain.
    against : ndarray of shape (n_others,), int64
        The documents that they are compared with, at least one.
    indptr : ndarray of shape (n_queries + 1,), int64
        Query q has the rows ``indptr[q]:indptr[q + 1]``.

    Raises
    ------
    DataError
        If the scorer standardises scores inside each query, and the documents are of several; or if it has
        weak rankers of another library.
    """
    if isinstance(scorer, Sum):
        parts = [contributions(term, features, rows, against, indptr) for term in scorer.terms]
        return np.tensordot(scorer.weights, parts, 1)
    if isinstance(scorer, StandardisedMean):
        return _of_standardised(scorer, features, rows, against, indptr)
    if type(scorer) is SetTrees:
        column = scorer.column(features.shape[1])
        parts = _of_trees(scorer, scorer.with_sets(features), rows, against, column)
        return scorer.of_columns(parts, features[rows])
    if isinstance(scorer, Additive):
        if scorer.others:
            kind = type(next(iter(scorer.others.values()))).__name__
            raise DataError(
                f"the model has weak rankers of another library ({kind}), which are not explained"
            )
        scorer = scorer.as_trees
    if type(scorer) is Trees:
        return _of_trees(scorer, features, rows, against, scorer.feature)
    if not isinstance(scorer, LINEAR):
        raise DataError(f"{scorer!r} cannot be explained: it is of a kind that is not known")
    if isinstance(scorer, QueryLinear):
        features = scaled_inside_queries(features, indptr)
    values = features if scorer.fill is None else filled(features, scorer.fill)
    values = values[np.concatenate((rows, against))].astype(np.float64)
    if isinstance(scorer, LogLinear):
        values = np.where(scorer.logarithm, np.sign(values) * np.log1p(np.abs(values)), values)
    return np.asarray(scorer.coefficients) * (values[: len(rows)] - values[len(rows) :].mean(axis=0))


def contributions_by_paths(scorer: object, features: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return what each feature adds to score − mean score of the training documents, as `contributions` does.

    A hybrid has the features S of x. At a split on another feature it goes both ways, in proportion to the
    training documents of the two nodes: path-dependent TreeSHAP [1]_, Algorithm 2.

    Raises
    ------
    DataError
        If the scorer is not made of trees whose nodes count training documents.
    """
    from scipy.special import beta

    if not isinstance(scorer, Trees) or scorer.cover is None:
        raise DataError(
            "the model has no counts of training documents, as trees of LightGBM and XGBoost have; compare "
            "with other documents, or train such trees"
        )
    of_rows, column = features[rows], scorer.feature
    if isinstance(scorer, SetTrees):
        column, features = scorer.column(features.shape[1]), scorer.with_sets(features)
    trees = scorer.in_float32 if features.dtype == np.float32 else scorer
    sizes = np.diff(np.append(trees.root, len(trees.left)))
    inner = np.flatnonzero(trees.left != LEAF)
    start, parent = np.repeat(trees.root, sizes), np.full(len(trees.left), -1)
    for children in (trees.left, trees.right):
        parent[start[inner] + children[inner]] = inner
    cover = scorer.cover.astype(np.float64)
    share = np.divide(cover, cover[parent], out=np.zeros_like(cover), where=cover[parent] > 0)
    number = np.arange(min(int(sizes.max(initial=1)) // 2 + 1, features.shape[1]) + 1.0)
    out = np.zeros((len(rows), features.shape[1]))
    _add_by_paths(
        features, rows, start, parent, trees.feature, column, trees.threshold,
        trees.missing, trees.left, trees.value, share, beta(number[:, None] + 1.0, number + 1.0), out,
    )  # fmt: skip
    return scorer.of_columns(out, of_rows) if isinstance(scorer, SetTrees) else out


def _of_standardised(scorer: StandardisedMean, features, rows, against, indptr) -> np.ndarray:
    """Return the contributions to a mean of scores that are divided by their deviation inside the query."""
    q = np.searchsorted(indptr, rows[0], "right") - 1
    first, last = indptr[q : q + 2]
    every = np.concatenate((rows, against))
    if every.min() < first or every.max() >= last:
        raise DataError("the model averages scores inside each query: compare documents of one query")
    features, indptr = features[first:last], np.array([0, last - first])
    total = np.zeros((len(rows), features.shape[1]))
    for member in scorer.members:
        deviation = mean_deviation(scores_in_queries(member, features, indptr), indptr)
        if deviation:
            total += contributions(member, features, rows - first, against - first, indptr) / deviation
    return total / len(scorer.members)


def _of_trees(scorer: Trees, features, rows, against, column) -> np.ndarray:
    from scipy.special import beta

    trees = scorer.in_float32 if features.dtype == np.float32 else scorer
    n_nodes = len(trees.left)
    slope = np.zeros(n_nodes) if trees.slope is None else trees.slope
    fill = np.zeros(n_nodes, np.float32) if trees.fill is None else trees.fill
    # No path reads more features: its splits are at most half of the nodes, and its leaf may read one.
    most = min(int(np.diff(np.append(trees.root, n_nodes)).max(initial=1)) // 2 + 1, features.shape[1])
    number = np.arange(most + 1.0)
    out = np.zeros((len(rows), features.shape[1]))
    _add_contributions(
        features, rows, against, trees.root, trees.feature, column, trees.threshold, trees.missing,
        trees.left, trees.right, trees.value, slope, fill, beta(number[:, None] + 1.0, number + 1.0), out,
    )  # fmt: skip
    return out / len(against)


@kernel
def _add_contributions(
    features, rows, against, root, feature, column, threshold, missing, left, right, value, slope, fill,
    weight, out,
):  # fmt: skip
    # A leaf is reached by the hybrids that have some features of x and some of b. With p and n of these, the
    # Shapley value of that game is (p − 1)! n! / (p + n)! for the first and −p! (n − 1)! / (p + n)! for the
    # others; weight[i, j] = i! j! / (i + j + 1)!.
    most = len(weight)
    decided, entered = np.empty(most, np.int64), np.empty(most, np.bool_)
    waiting = np.empty((most, 2), np.int64)
    for i in range(len(rows)):
        for j in range(len(against)):
            x, b = features[rows[i]], features[against[j]]
            for start in root:
                node, depth, n_waiting = start, 0, 0
                while True:
                    k, next_x, next_b = feature[node], node, node
                    of_x, of_b, k = x[k], b[k], column[node]
                    if left[node] != LEAF:
                        x_left = goes_left(of_x, threshold[node], missing[node])
                        b_left = goes_left(of_b, threshold[node], missing[node])
                        next_x = start + (left[node] if x_left else right[node])
                        next_b = start + (left[node] if b_left else right[node])
                        apart = next_x != next_b
                    else:
                        of_x = fill[node] if np.isnan(of_x) else of_x
                        of_b = fill[node] if np.isnan(of_b) else of_b
                        apart = slope[node] != 0.0 and of_x != of_b
                    follows_x = True
                    if apart:
                        place = 0
                        while place < depth and decided[place] != k:
                            place += 1
                        if place == depth:
                            # Go on with the hybrids that have k of x; those that have it of b wait.
                            waiting[n_waiting, 0], waiting[n_waiting, 1] = next_b, depth
                            n_waiting += 1
                            decided[depth], entered[depth] = k, True
                            depth += 1
                        follows_x = entered[place]
                    if left[node] != LEAF:
                        node = next_x if follows_x else next_b
                        continue
                    total = value[node]
                    if slope[node] != 0.0:
                        total += slope[node] * (of_x if follows_x else of_b)
                    p = 0
                    for place in range(depth):
                        p += entered[place]
                    n = depth - p
                    for place in range(depth):
                        if entered[place]:
                            out[i, decided[place]] += total * weight[p - 1, n]
                        else:
                            out[i, decided[place]] -= total * weight[p, n - 1]
                    if n_waiting == 0:
                        break
                    n_waiting -= 1
                    node, depth = waiting[n_waiting, 0], waiting[n_waiting, 1]
                    entered[depth] = False
                    depth += 1


@kernel
def _add_by_paths(
    features, rows, start, parent, feature, column, threshold, missing, left, value, share, weight, out
):
    # A leaf counts for a hybrid by the product, over the features on its path, of 1 or 0 where the feature is
    # of x, and of the share of training documents where it is not.
    most = len(weight)
    decided, follows, part = np.empty(most, np.int64), np.empty(most, np.bool_), np.empty(most)
    sums = np.empty(most + 1)
    for i in range(len(rows)):
        x = features[rows[i]]
        for leaf in range(len(left)):
            depth, node = 0, leaf
            while left[leaf] == LEAF and parent[node] >= 0:
                above = parent[node]
                k, is_left = column[above], start[above] + left[above] == node
                place = 0
                while place < depth and decided[place] != k:
                    place += 1
                if place == depth:
                    decided[depth], follows[depth], part[depth] = k, True, 1.0
                    depth += 1
                follows[place] &= goes_left(x[feature[above]], threshold[above], missing[above]) == is_left
                part[place] *= share[node]
                node = above
            for j in range(depth):
                # sums[s]: over all sets of s other features of x, the product of the other features.
                n, sums[0] = 0, 1.0
                for other in range(depth):
                    if other != j:
                        sums[n + 1] = 0.0
                        for s in range(n + 1, 0, -1):
                            sums[s] = sums[s] * part[other] + (sums[s - 1] if follows[other] else 0.0)
                        sums[0] *= part[other]
                        n += 1
                total = 0.0
                for s in range(n + 1):
                    total += sums[s] * weight[s, n - s]
                out[i, decided[j]] += value[leaf] * (follows[j] - part[j]) * total
