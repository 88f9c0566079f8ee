"""What a solver sees of the data: the oracles of an objective, and its passes over shards."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from directrank.oracles import (
    Curvature,
    DocumentWeights,
    GradientKernel,
    HessianVector,
    Part,
    QueryValues,
    QueryWeights,
    Reweighable,
    Staged,
    Step,
    Value,
    ValueAndGradient,
)

Item = TypeVar("Item")
Result = TypeVar("Result")


class BoundObjective(
    Value,
    ValueAndGradient,
    Curvature,
    HessianVector,
    QueryValues,
    QueryWeights,
    DocumentWeights,
    Reweighable,
    GradientKernel,
    Staged,
    Protocol,
):
    """What a solver sees of the data (see `directrank.surrogates.objective`): the oracles of `offers`."""

    offers: frozenset[type]
    n_docs: int
    n_queries: int
    #: Type of the scores in training, float32 or float64.
    dtype: Any
    #: Weight of each query, float64 (n_queries,), summing to 1; 0 for queries that are skipped.
    weights: np.ndarray

    @property
    def scale(self) -> float:
        """The factor of values and gradients of parts that makes the value at zero scores 1."""
        ...

    def step_along(self, scores: np.ndarray, direction: np.ndarray) -> Step:
        """Return the best step along a direction of scores, float64 (n_docs,); see `StepAlong`."""
        ...

    def window_step_along(self, scores: np.ndarray, direction: np.ndarray) -> Step:
        """Return the step along a direction of scores, float64 (n_docs,); see `WindowStep`."""
        ...

    def single_queries(self) -> Sequence[Part]:
        """Return one part for each query that can train."""
        ...

    def whole(self) -> Part:
        """Return all queries as one part."""
        ...

    def map_shards(self, statistic: Callable[[Sequence[Part]], Result]) -> list[Result]:
        """Apply a statistic to the parts of each shard, possibly in parallel; results in shard order."""
        ...

    def on_threads(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply a function to each item, such as a block of columns; results in the order of items."""
        ...

    def over_shards(
        self,
        statistic: Callable[..., Result],
        features: Any,
        *arguments: Any,
        rows: Sequence[np.ndarray] = (),
    ) -> list[Result]:
        """Apply a statistic of features to each shard, where its features are; results in shard order.

        It is a function of a module, which can be sent to another process, and is called as
        ``statistic(objective, features, parts, *arguments, *rows)``. In another process the objective, the
        features, the parts and the vectors of documents in `rows` are those of the shard alone.
        """
        ...

    def over_runs(
        self, statistic: Callable[..., list[Result]], features: Any, *arguments: Any
    ) -> list[Result]:
        """Apply a statistic of features to runs of consecutive shards; results of all, in shard order.

        It is called as ``statistic(objective, features, shards, *arguments)``, with the parts of each shard,
        and returns a result for each of them, which must not depend on the others. This is `over_shards` for
        statistics that take less time than a call.
        """
        ...
