"""Sums over the data, which are added up in one order whatever the number of threads."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from directrank.contracts import BoundObjective, Part


def added_up(results: Iterable[Sequence[Any]]) -> list[Any]:
    """Return the sum of some tuples of numbers or arrays, entry by entry, in the order given."""
    return [sum(entries) for entries in zip(*results, strict=True)]


def sum_over_parts(objective: BoundObjective, statistic: Callable[[Part], Sequence[Any]]) -> list[Any]:
    """Return the sum of a statistic of scores, a tuple for each part: over parts, then over shards."""
    return added_up(objective.map_shards(lambda parts: added_up(statistic(part) for part in parts)))


def sum_over_rows(
    objective: BoundObjective,
    statistic: Callable[..., Sequence[Any]],
    features: Any,
    *arguments: Any,
    rows: Sequence[np.ndarray] = (),
) -> list[Any]:
    """Return the sum of a statistic of features, a tuple for each part: over parts, then over shards.

    It is a function of a module, called with a part, its features, the arguments, and its own rows of each
    vector of `rows`.
    """
    return added_up(objective.over_shards(_of_shard, features, statistic, arguments, rows=rows))


def _of_shard(objective, features, parts, statistic, arguments, *rows) -> list[Any]:
    return added_up(
        statistic(part, features[part.rows], *arguments, *(each[part.rows] for each in rows))
        for part in parts
    )
