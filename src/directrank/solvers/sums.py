"""Sums over the data, which are added up in one order whatever the number of threads."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from directrank.oracles import BoundObjective, Part


def added_up(results: Iterable[Sequence[Any]]) -> list[Any]:
    """Return the sum of some tuples of numbers or arrays, entry by entry, in the order given."""
    return [sum(entries) for entries in zip(*results, strict=True)]


def sum_over_parts(objective: BoundObjective, statistic: Callable[[Part], Sequence[Any]]) -> list[Any]:
    """Return the sum of a statistic, a tuple for each part: over parts of each shard, then over shards."""
    return added_up(objective.map_shards(lambda parts: added_up(statistic(part) for part in parts)))
