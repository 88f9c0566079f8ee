"""The scaling of features before a linear scorer: fitted on the training set, part of the model.

========== ===================================================================== =========================
kind       each feature becomes                                                  in the saved model
========== ===================================================================== =========================
none       itself
standard   (x − mean) / standard deviation                                       folded into coefficients
log        the same of sign(x) · log1p |x|                                       the features with logarithm
query      (x − smallest) / (largest − smallest), inside each query              a scorer that needs queries
========== ===================================================================== =========================

No ranking depends on a constant that is added to all scores, so means are not part of the model. Constant
features become 0 and have coefficient 0.

The median of a feature's values stands for each missing one, before the scaling; for the kind "query", whose
raw values are not comparable between queries, after it. The medians are part of the model.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.data.queries import Queries
from directrank.data.remote.workers import RemoteGroups
from directrank.data.shards import map_in_order
from directrank.kernels.aligned import zeros_like
from directrank.kernels.compile import kernel
from directrank.scorers.column_statistics import ColumnStatistics, column_statistics
from directrank.scorers.linear import Linear
from directrank.scorers.missing_values import counted_medians, filled, medians, missing_counts
from directrank.scorers.query_ranges import scaled_inside_queries
from directrank.scorers.scaled_linear import LogLinear, QueryLinear, read_row
from directrank.scorers.scaling_rule import choose

Kind = Literal["none", "standard", "log", "query"]
#: What a ranker's parameter `scaling` may be.
CHOICES = ("auto", "none", "standard", "log", "query")


def _empty() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Scaling:
    """A fitted scaling: features to scaled features, and coefficients of the one to those of the other.

    Attributes
    ----------
    kind : str
    reason : str
        Why "auto" chose it, for people; empty if it was asked for.
    shift, factor : ndarray of shape (n_features,), float64
        Scaled features are ``(x - shift) * factor``, after the logarithm; the factor of constant features
        is 0. Empty for the kinds "none" and "query".
    logarithm : ndarray of shape (n_features,), bool
        The features whose logarithm is taken.
    fill : ndarray of shape (n_features,), float32, optional
        What stands for a missing value: the median of the training set. None for scorers that are not
        linear, which read missing values.
    notes : list of str
        What was filled in the training set, for people.
    """

    kind: Kind
    reason: str = ""
    shift: np.ndarray = field(default_factory=_empty)
    factor: np.ndarray = field(default_factory=_empty)
    logarithm: np.ndarray = field(default_factory=_empty)
    fill: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Scaling({self.kind})"

    def of(self, groups: QueryGroups, n_threads: int = 1, *, in_place: bool = False) -> QueryGroups:
        """Return the same queries with filled and scaled features; the groups if this changes nothing.

        With `in_place` standardised features take the place of the given ones, which saves a copy.
        """
        if self.fill is None:
            return groups
        if isinstance(groups, RemoteGroups):
            return groups.transformed(_scaled_shard, self)
        if self.kind == "query":
            scaled = scaled_inside_queries(groups.features, groups.queries.indptr)
            return _with_features(groups, filled(scaled, self.fill))
        groups = _with_features(groups, filled(groups.features, self.fill))
        if self.kind == "none":
            return groups
        out = groups.features if in_place else zeros_like(groups.features)
        return _with_features(groups, self._standardised(groups, n_threads, out))

    def scorer(self, scaled: Linear) -> "Linear | LogLinear | QueryLinear":
        """Return the scorer of raw features that ranks as a linear scorer of scaled features does."""
        if self.fill is None:
            return scaled
        weights = np.asarray(scaled.coefficients, np.float64)
        if self.kind == "none":
            return Linear(weights, self.fill)
        if self.kind == "query":
            return QueryLinear(weights, self.fill)
        folded = weights * self.factor
        return (
            LogLinear(folded, self.logarithm, self.fill) if self.kind == "log" else Linear(folded, self.fill)
        )

    def reads_as(self, scorer: "Linear | LogLinear | QueryLinear") -> bool:
        """Return whether a scorer of raw features takes the logarithm of the same features, say."""
        own = self.scorer(Linear(scorer.coefficients))
        same = np.array_equal(getattr(own, "logarithm", ()), getattr(scorer, "logarithm", ()))
        return type(own) is type(scorer) and same

    def on_scaled(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the coefficients of scaled features that mean the same as those of a ranker's `coef_`."""
        if self.kind in ("none", "query"):
            return coefficients
        return np.where(self.factor > 0, coefficients / np.where(self.factor > 0, self.factor, 1.0), 0.0)

    def _standardised(self, groups: QueryGroups, n_threads: int, out: np.ndarray) -> np.ndarray:
        columns = np.flatnonzero(self.logarithm)

        def fill(shard) -> None:
            rows = shard.rows
            given = groups.features[rows]
            # Kernels are promised that what they write does not overlap what they read.
            read = given.copy() if out is groups.features else given
            _standardise(read, columns, self.shift, self.factor, out[rows])

        map_in_order(fill, groups.shards, n_threads)
        return out


def fit_scaling(
    kind: Literal["auto"] | Kind, groups: QueryGroups, weights: np.ndarray | None = None, n_threads: int = 1
) -> Scaling:
    """Fit a scaling to training queries.

    Parameters
    ----------
    kind : {"auto", "none", "standard", "log", "query"}
    groups : QueryGroups
    weights : ndarray of shape (n_queries,), optional
        Weight ≥ 0 of each query; equal by default.
    n_threads : int, default=1
        Results do not depend on it.
    """
    fill = _medians(_inside_queries(groups) if kind == "query" else groups, weights, n_threads)
    simple = kind in ("none", "query")
    found = Scaling(kind) if simple else _fit_filled(kind, groups, fill, weights, n_threads)
    return replace(found, fill=fill, notes=_notes(groups))


def with_medians(groups: QueryGroups) -> QueryGroups:
    """Return the same queries with medians in place of missing values."""
    if not missing_counts(groups.features).any():
        return groups
    return _filled(groups, medians(groups.features))


def _filled(groups: QueryGroups, fill: np.ndarray) -> QueryGroups:
    if not isinstance(groups, RemoteGroups):
        return _with_features(groups, filled(groups.features, fill))
    return groups.transformed(_filled_shard, fill) if _missing(groups).any() else groups


def _filled_shard(features, indptr, blocks, fill) -> np.ndarray:
    return filled(features, fill)


def _inside_queries(groups: QueryGroups) -> QueryGroups:
    if isinstance(groups, RemoteGroups):
        return groups.transformed(_shard_inside_queries)
    return _with_features(groups, scaled_inside_queries(groups.features, groups.queries.indptr))


def _shard_inside_queries(features, indptr, blocks) -> np.ndarray:
    return scaled_inside_queries(features, indptr)


def _scaled_shard(features, indptr, blocks, scaling: Scaling) -> np.ndarray:
    """Return the scaled features of a shard that another process holds."""
    queries = Queries(np.zeros(len(features)), indptr, np.arange(len(features)), np.arange(len(indptr) - 1))
    return scaling.of(QueryGroups.from_inner(features, queries)).features


def _fit_filled(kind, groups: QueryGroups, fill: np.ndarray, weights, n_threads: int) -> Scaling:
    whole = _filled(groups, fill)
    plain = np.full(groups.n_features, False)
    if kind == "log":
        found = column_statistics(whole, ~plain, weights, n_threads)
        return _affine("log", "", found, ~plain)
    found = column_statistics(whole, plain, weights, n_threads)
    if kind == "standard":
        return _affine("standard", "", found, plain)
    chosen = choose(groups, found)
    if chosen.kind == "none":
        return Scaling("none", chosen.reason)
    if chosen.kind == "log":
        found = column_statistics(whole, chosen.logarithm, weights, n_threads)
    return _affine(chosen.kind, chosen.reason, found, chosen.logarithm)


def _notes(groups: QueryGroups) -> list[str]:
    """Return what is said of missing values, if there are any."""
    counts = _missing(groups)
    if not counts.any():
        return []
    n_missing, empty = int((counts > 0).sum()), int((counts == groups.n_docs).sum())
    of = f"{n_missing} feature{'s' * (n_missing > 1)}"
    without = f"; {empty} of them without any value became 0" if empty else ""
    which = "value" if counts.sum() == 1 else "values"
    return [f"filled {counts.sum()} missing {which} of {of} by their training medians{without}"]


def _missing(groups: QueryGroups) -> np.ndarray:
    """Return the number of missing values of each feature."""
    return groups.total(_missing_of_shard)


def _missing_of_shard(features, indptr, blocks) -> np.ndarray:
    return missing_counts(features)


def _medians(groups: QueryGroups, weights, n_threads: int) -> np.ndarray:
    """Return the median of each feature over the documents of queries that count."""
    if isinstance(groups, RemoteGroups):
        return counted_medians(groups, weights)
    features = groups.features
    if weights is not None and not weights.all():
        features = features[np.repeat(weights > 0, groups.queries.sizes)]
    return medians(features, lambda of_rows, ranges: map_in_order(of_rows, ranges, n_threads))


def _with_features(groups: QueryGroups, features: np.ndarray) -> QueryGroups:
    if features is groups.features:
        return groups
    return QueryGroups.from_inner(
        features,
        groups.queries,
        feature_names=groups.feature_names,
        name=groups.name,
        labelled=groups.labelled,
    )


def _affine(kind: Kind, reason: str, found: ColumnStatistics, logarithm: np.ndarray) -> Scaling:
    factor = np.where(found.varies, 1.0, 0.0) / np.where(found.varies, found.deviation, 1.0)
    return Scaling(kind, reason, found.mean, factor, logarithm)


@kernel
def _standardise(features, columns, shift, factor, out):
    row = np.empty(features.shape[1])
    for i in range(len(features)):
        read_row(features, i, columns, row)
        for k in range(len(row)):
            out[i, k] = (row[k] - shift[k]) * factor[k]
