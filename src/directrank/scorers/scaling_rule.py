"""The rule of ``scaling="auto"``: which scaling the training features ask for.

docs/scaling.md says how it was found.
"""

from typing import Literal, NamedTuple

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.scorers.column_statistics import ColumnStatistics
from directrank.scorers.query_ranges import are_counted_as_scaled, range_counts

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


class Choice(NamedTuple):
    """What the rule chose, why, and the features whose logarithm is taken."""

    kind: Literal["none", "standard", "log"]
    reason: str
    logarithm: np.ndarray


def choose(groups: QueryGroups, found: ColumnStatistics) -> Choice:
    """Return the scaling of features with these statistics.

    None for features that are scaled inside each query already, or whose deviations are alike and near 1.
    Else every feature is standardised: heavy-tailed ones after the logarithm sign(x) · log1p |x|, and all of
    them after the logarithm if many have heavy tails.
    """
    plain = np.full(groups.n_features, False)
    if are_counted_as_scaled(groups.total(range_counts)):
        return Choice("none", "features are scaled to [0, 1] inside queries", plain)
    heavy, n_features = heavy_tailed(found), groups.n_features
    if heavy.any():
        many = heavy.sum() >= MANY * n_features
        reason = f"{heavy.sum()} of {n_features} features have heavy tails: the logarithm of "
        return Choice("log", reason + ("all" if many else "these"), heavy | many)
    spread = found.deviation[found.varies]
    if not spread.size:
        return Choice("none", "features are constant", plain)
    alike = spread.min() >= SMALLEST and spread.max() <= LARGEST
    if alike and (np.abs(found.mean[found.varies]) <= FAR * spread).all():
        return Choice("none", "standard deviations of features are alike and near 1", plain)
    between = f"between {spread.min():.2g} and {spread.max():.2g}"
    return Choice("standard", f"standard deviations of features are {between}", plain)


def heavy_tailed(found: ColumnStatistics) -> np.ndarray:
    """Return which features have a heavy tail that a logarithm shortens, bool (n_features,)."""
    size = np.maximum(np.abs(found.smallest), np.abs(found.largest))
    return (found.reach > HEAVY) & (size > STRAIGHT)
