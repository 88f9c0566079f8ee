"""What is known before anything is learned: each feature weighted by how well it goes with the grade."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np

from directrank.contracts import Measure, Solution
from directrank.errors import DataError
from directrank.estimators.linear_ranker import LinearRanker
from directrank.estimators.parameters import estimator
from directrank.estimators.training import Request, scaled_request
from directrank.features import Features
from directrank.features.statistics import deviations_in_queries
from directrank.measures import default_measure, parse_measure
from directrank.scorers import Linear


def correlations(features: Features, relevance: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the mean over queries of the correlation of each feature with relevance, (n_features,).

    Parameters
    ----------
    features : Features
        Without missing values.
    relevance : ndarray of shape (n_docs,)
        In the order of the features.
    weights : ndarray of shape (n_docs,), optional
        Of rows, the same for all rows of a query.

    Notes
    -----
    Queries of one grade count nothing, and features that are constant in a query have the correlation 0.
    """
    weights = np.ones(len(relevance)) if weights is None else weights
    return mean_of_shards(features.over_shards(correlations_of_shard, rows=(relevance, weights)))


def mean_of_shards(shards: Sequence[tuple[np.ndarray, float]]) -> np.ndarray:
    """Return the mean from the sums of shards, and the sums of their weights."""
    total = np.sum([sums for sums, _ in shards], axis=0)
    return total / (sum(of for _, of in shards) or 1.0)


def correlations_of_shard(features, indptr, blocks, relevance, weights) -> tuple[np.ndarray, float]:
    """Return the weighted sum of correlations over the queries of a shard, and the sum of their weights."""
    total, of = np.zeros(features.shape[1]), 0.0
    for first, last in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        grades = relevance[first:last] - relevance[first:last].mean()
        if not grades.any():
            continue
        rows = features[first:last].astype(np.float64)
        rows -= rows.mean(axis=0)
        sizes = np.sqrt((rows**2).sum(axis=0) * (grades**2).sum())
        # Rounding of the mean is no difference between documents.
        varies = np.ptp(features[first:last], axis=0) > 0
        total += weights[first] * np.where(varies, grades @ rows / np.where(sizes > 0, sizes, 1.0), 0.0)
        of += weights[first]
    return total, of


@estimator
class CorrelationRanker(LinearRanker):
    """The sum of features, each weighted by its mean correlation with the grade inside training queries.

    Features are in units of their training deviation. Nothing is fitted but one number per feature, so that a
    few queries are enough: what other methods have to beat, and what they can be shrunk towards.

    Examples
    --------
    >>> from directrank.apps.auto import CorrelationRanker
    >>> ranker = CorrelationRanker().fit([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]], [0, 1, 2], qid=[1, 1, 1])
    >>> ranker.predict([[2.0, 0.0], [1.0, 1.0]]).argmax()
    0
    """

    scaling: Annotated[
        Literal["auto", "none", "standard", "log", "query"] | None,
        "Features in units of their training deviation; or what other linear rankers take.",
    ] = "standard"

    def components(self):
        """Return no loss and no solver: the weights are a formula."""
        return None, None, Linear()

    def checked(self):
        """Return the ranker itself: there is nothing that does not fit."""
        return self

    def _train(self, request: Request) -> tuple[Solution, Measure]:
        groups, weights = request.groups, request.weights
        queries, n_threads = groups.queries, self._n_threads()
        measure = default_measure(queries) if self.select_by is None else parse_measure(self.select_by)
        rows = None if weights is None else np.repeat(weights, queries.sizes)
        alone = replace(request, validation=None)
        scaling, scaled = scaled_request(self.scaling, Linear(), alone, n_threads)
        if queries.single_grade.all():
            raise DataError(
                "every query has one grade only, so that no feature goes with the grade; give queries with "
                "documents of different relevance"
            )
        weight = correlations(scaled.groups.source, queries.relevance, rows)
        self.left_out_ = queries.qid[queries.single_grade]
        self.notes_ = [*scaling.notes]
        self.scaling_, self.scaling_reason_ = scaling.kind, scaling.reason
        if scaling.fill is not None:
            spread = deviations_in_queries(scaled.groups.source, rows, n_threads)
            self.feature_deviations_ = scaling.raw_deviations(spread)
        message = f"mean correlations inside {queries.n_queries - len(self.left_out_)} queries"
        scorer = scaling.scorer(Linear(weight))
        return Solution(scorer, "complete", {}, [], message), measure
