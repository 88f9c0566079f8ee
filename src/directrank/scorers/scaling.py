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
features become 0 and have coefficient 0. Features of the kind "none" that are so far from 0 that scores in
float32 lose what certificates are about are moved by their medians, which float32 subtracts exactly.

The median of a feature's values stands for each missing one, before the scaling; for the kind "query", whose
raw values are not comparable between queries, after it. The medians are part of the model.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.features import Features
from directrank.features.statistics import (
    ColumnStatistics,
    are_scaled_inside_queries,
    column_statistics,
    filled,
    in_logarithms,
    medians,
    missing_counts,
    scaled_inside_queries,
)
from directrank.kernels.compile import kernel
from directrank.scorers.linear import Linear, LogLinear, QueryLinear

Kind = Literal["none", "standard", "log", "query"]


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
        is 0. Empty for the kind "query", and for "none" unless features are far from 0.
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
    shift: np.ndarray = field(default_factory=partial(np.empty, 0))
    factor: np.ndarray = field(default_factory=partial(np.empty, 0))
    logarithm: np.ndarray = field(default_factory=partial(np.empty, 0))
    fill: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    #: What a ranker's parameter `scaling` may be.
    choices: ClassVar[tuple[Literal["auto"] | Kind, ...]] = ("auto", "none", "standard", "log", "query")

    def __repr__(self) -> str:
        return f"Scaling({self.kind})"

    def of(self, groups: QueryGroups, n_threads: int = 1, *, in_place: bool = False) -> QueryGroups:
        """Return the same queries with filled and scaled features; the groups if this changes nothing.

        With `in_place` standardised features take the place of the given ones, which saves a copy.
        """
        unchanged = self.kind == "none" and not self.shift.size
        if self.fill is None or (unchanged and not missing_counts(groups.source).any()):
            return groups
        features = groups.source.transformed(
            _scale, self, n_threads=n_threads, in_place=in_place and bool(self.shift.size)
        )
        return groups.with_features(features)

    def of_shard(self, features: np.ndarray, indptr, blocks) -> np.ndarray:
        """Return the filled and scaled features of a shard."""
        out = np.empty_like(features)
        _scale(features, indptr, blocks, self, out)
        return out

    def scorer(self, scaled: Linear) -> "Linear | LogLinear | QueryLinear":
        """Return the scorer of raw features that ranks as a linear scorer of scaled features does."""
        if self.fill is None:
            return scaled
        weights = np.asarray(scaled.coefficients, np.float64)
        if self.kind == "none":
            return Linear(weights * self.factor if self.factor.size else weights, self.fill)
        if self.kind == "query":
            return QueryLinear(weights, self.fill)
        folded = weights * self.factor
        return (
            LogLinear(folded, self.logarithm, self.fill) if self.kind == "log" else Linear(folded, self.fill)
        )

    def reads_as(self, scorer: "Linear | LogLinear | QueryLinear") -> bool:
        """Return whether a scorer of raw features takes the logarithm of the same features, say."""
        unscaled = self.scorer(Linear(scorer.coefficients))
        same = np.array_equal(getattr(unscaled, "logarithm", ()), getattr(scorer, "logarithm", ()))
        return type(unscaled) is type(scorer) and same

    def raw_deviations(self, scaled: np.ndarray) -> np.ndarray:
        """Return the deviations of the features that `coef_` multiplies, from those of scaled features."""
        if self.kind in ("none", "query"):
            return scaled
        return scaled / np.where(self.factor > 0, self.factor, 1.0)

    def on_scaled(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the coefficients of scaled features that mean the same as those of a ranker's `coef_`."""
        if self.kind in ("none", "query"):
            return coefficients
        return np.where(self.factor > 0, coefficients / np.where(self.factor > 0, self.factor, 1.0), 0.0)


def fit_scaling(
    kind: Literal["auto"] | Kind, groups: QueryGroups, weights: np.ndarray | None = None, n_threads: int = 1
) -> Scaling:
    """Fit a scaling to training queries of some weights; results do not depend on the number of threads."""
    rows, source = None if weights is None else np.repeat(weights, groups.queries.sizes), groups.source
    counted = None if rows is None else rows > 0
    inside_queries = source.transformed(_inside_queries) if kind == "query" else source
    typical = medians(inside_queries, counted, n_threads)
    scaling = Scaling(kind) if kind == "query" else _fit_moments(kind, source, rows, n_threads, typical)
    counts = missing_counts(source)
    notes = [_filled(counts, groups.n_docs)] if counts.any() else []
    return replace(scaling, fill=typical, notes=[*notes, *scaling.notes])


def _inside_queries(features: np.ndarray, indptr, blocks, out: np.ndarray) -> None:
    scaled_inside_queries(features, indptr, out)


def _scale(features: np.ndarray, indptr, blocks, scaling: Scaling, out: np.ndarray) -> None:
    assert scaling.fill is not None
    if scaling.kind == "query":
        scaled = filled(scaled_inside_queries(features, indptr, out), scaling.fill)
        if scaled is not out:
            out[:] = scaled
        return
    if not scaling.shift.size:
        out[:] = filled(features, scaling.fill)
    else:
        if features is not out:
            out[:] = features
        if not scaling.logarithm.any():
            _standardise(out, scaling.fill, scaling.shift, scaling.factor)
            return
        how = scaling.logarithm, scaling.shift, scaling.factor
        for rows, standardised in in_logarithms(out, scaling.fill, *how):
            out[rows] = standardised


def _fit_moments(kind, features: Features, weights, n_threads: int, near: np.ndarray) -> Scaling:
    chosen = Scaling(kind, logarithm=np.full(features.shape[1], kind == "log"))
    statistics = column_statistics(features, chosen.logarithm, weights, n_threads, near)
    if kind == "auto":
        chosen = choose_scaling(features, statistics)
        if chosen.kind == "log":
            statistics = column_statistics(features, chosen.logarithm, weights, n_threads, near)
    if chosen.kind == "none":
        return _near_0(chosen, statistics, near)
    factor = np.where(statistics.varies, 1.0, 0.0) / np.where(statistics.varies, statistics.deviation, 1.0)
    return replace(chosen, shift=statistics.mean, factor=factor)


def _near_0(scaling: Scaling, statistics: ColumnStatistics, middle: np.ndarray) -> Scaling:
    """Return a scaling that moves features far from 0 by their medians, which float32 subtracts exactly."""
    scale = np.where(statistics.varies, statistics.deviation, statistics.deviation.max(initial=0.0))
    far = (np.abs(statistics.mean) > BEYOND_DIGITS * scale) & (scale > 0)
    if not far.any():
        return scaling
    which = f"{far.sum()} of {len(far)} features are far from 0: training subtracts their medians"
    factor = np.where(far & ~statistics.varies, 0.0, 1.0)
    return replace(scaling, shift=np.where(far, middle, 0.0), factor=factor, notes=[which])


def _filled(counts: np.ndarray, n_docs: int) -> str:
    """Return a remark on missing values, of which each feature has so many."""
    n_missing, empty = int((counts > 0).sum()), int((counts == n_docs).sum())
    of = f"{n_missing} feature{'s' * (n_missing > 1)}"
    without = f"; {empty} of them without any value became 0" if empty else ""
    which = "value" if counts.sum() == 1 else "values"
    return f"filled {counts.sum()} missing {which} of {of} by their training medians{without}"


@kernel
def _standardise(rows, fill, shift, factor):
    for i in range(len(rows)):
        for k in range(rows.shape[1]):
            x = rows[i, k]
            rows[i, k] = ((fill[k] if np.isnan(x) else x) - shift[k]) * factor[k]


#: A feature has a heavy tail if it reaches further from its mean than this many standard deviations.
HEAVY = 6.0
#: If this share of features has a heavy tail, the others are of their kind: counts, lengths, frequencies.
MANY = 0.25
#: Between -1 and 1 the logarithm is almost a straight line.
STRAIGHT = 1.0
#: Standard deviations between these suit the penalties that comparisons try.
SMALLEST, LARGEST = 0.1, 3.0
#: A mean further from 0 than this many standard deviations costs digits.
FAR = 10.0
#: A mean further from 0 than this many costs scores in float32 digits that certificates are about.
BEYOND_DIGITS = 1e3


def choose_scaling(features: Features, statistics: ColumnStatistics) -> Scaling:
    """Return the scaling of features with these statistics, before it is fitted.

    None for features that are scaled inside each query already, or whose deviations are alike and near 1.
    Else every feature is standardised: heavy-tailed ones after the logarithm sign(x) · log1p |x|, and all of
    them after the logarithm if many have heavy tails.
    """
    if are_scaled_inside_queries(features):
        return Scaling("none", "features are scaled to [0, 1] inside queries")
    heavy, n_features = heavy_tailed(statistics), features.shape[1]
    if heavy.any():
        many = heavy.sum() >= MANY * n_features
        reason = f"{heavy.sum()} of {n_features} features have heavy tails: the logarithm of "
        return Scaling("log", reason + ("all" if many else "these"), logarithm=heavy | many)
    spread = statistics.deviation[statistics.varies]
    if not spread.size:
        return Scaling("none", "features are constant")
    alike = spread.min() >= SMALLEST and spread.max() <= LARGEST
    if alike and (np.abs(statistics.mean[statistics.varies]) <= FAR * spread).all():
        return Scaling("none", "standard deviations of features are alike and near 1")
    between = f"between {spread.min():.2g} and {spread.max():.2g}"
    return Scaling("standard", f"standard deviations of features are {between}", logarithm=heavy)


def heavy_tailed(statistics: ColumnStatistics) -> np.ndarray:
    """Return which features have a heavy tail that a logarithm shortens, bool (n_features,)."""
    size = np.maximum(np.abs(statistics.smallest), np.abs(statistics.largest))
    return (statistics.reach > HEAVY) & (size > STRAIGHT)
