"""The shards of an objective in the processes that hold their features.

The sums over features are made there. Oracles of scores alone are called where the solver is.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from directrank.contracts import Part, Surrogate
from directrank.features.workers import Held, Workers
from directrank.surrogates.on_all_queries import gradient_plugin


class ShardObjective:
    """What a statistic sees of an objective in another process: one shard, counted from 0.

    Parameters
    ----------
    held : mapping
        The shard's ``queries`` and ``blocks``.
    surrogate : Surrogate
        With the parameters that depend on all queries.
    dtype : type
        Of the scores in training.
    longest : int
        Documents of the longest query of all shards: compiled loops cut their work by it.
    weights : ndarray of shape (n_queries,)
        Of the shard's queries; those of all shards sum to 1.
    """

    def __init__(self, held: Held, surrogate: Surrogate, dtype: Any, longest: int, weights: np.ndarray):
        self.offers, self.dtype, self.weights = surrogate.offers, dtype, weights
        queries = held["queries"]
        self.parts = tuple(
            Part(
                block.rows,
                slice(block.first_query, block.last_query),
                surrogate.bind(
                    queries.part(block.first_query, block.last_query),
                    weights[block.first_query : block.last_query],
                ),
            )
            for block in held["blocks"]
        )
        self._surrogate, self._queries, self._longest, self._plugin = surrogate, queries, longest, None

    def gradient_plugin(self) -> Any:
        """Return the plug-in of the shard's queries; see `directrank.contracts.GradientKernel`."""
        if self._plugin is None:
            made = gradient_plugin(self._surrogate, self._queries, self.weights, self.parts)
            self._plugin = made._replace(longest=self._longest)
        return self._plugin


def one_shard(objective, features, parts, statistic: Callable, arguments: Sequence[Any]) -> Any:
    """Apply a statistic of runs of shards to one shard."""
    return statistic(objective, features, (parts,), *arguments)[0]


class RemoteShards:
    """The shards of an objective, in the processes that hold their features.

    Parameters
    ----------
    objective : Objective
    longest : int
    workers : Workers
    """

    def __init__(self, objective: Any, longest: int, workers: Workers):
        self.workers, self.key, self.reweighed = workers, workers.new_key("objective"), 0
        surrogate = objective.surrogate
        # Random weights are drawn anew at each call: a shard that is loaded again has to catch up.
        self._is_drawn = surrogate.seed is not None
        workers.keep(
            self.key, ShardObjective, surrogate, objective.dtype, longest, by_query=(objective.weights,)
        )
        workers.drop_with(self, self.key)

    def over_shards(
        self, statistic: Callable, features: Any, arguments: Sequence[Any], rows: Sequence[np.ndarray]
    ) -> list[Any]:
        """Apply a statistic to each shard; the results are in shard order."""
        return self.workers.over_shards(
            _statistic, self.key, features.key, statistic, tuple(arguments), rows=rows
        )

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix weights that depend on the ranking at that of these scores."""
        self.reweighed += 1
        again = self.reweighed if self._is_drawn else 1
        self.workers.change(self.key, _reweigh, rows=(scores,), again=again)


def _statistic(held: Held, objective: str, features: str, statistic: Callable, arguments, *rows) -> Any:
    bound = held[objective]
    return statistic(bound, held[features], bound.parts, *arguments, *rows)


def _reweigh(bound: ShardObjective, scores: np.ndarray) -> None:
    for part in bound.parts:
        part.oracles.reweigh(scores[part.rows])
