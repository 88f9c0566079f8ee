"""An objective: a surrogate bound to data, with oracles on one flat vector of scores.

Everything that trains meets the library here: our solvers, and later a boosting library's custom
objective, a PyTorch loss, a worker of a cluster. Relevance and the boundaries of queries go in; no one who
holds an objective sees them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from directrank.contracts import Step, Surrogate
from directrank.data.queries import Queries
from directrank.data.shards import Block, Shard, map_in_order
from directrank.errors import DataError
from directrank.surrogates.capabilities import Annealed, Estimated
from directrank.surrogates.steps import best_step

Result = TypeVar("Result")
# Queries that a note names; all of them are counted.
NAMED = 20


@dataclass(frozen=True)
class Part:
    """Some whole queries: their rows, their numbers, and the oracles on the scores of those rows."""

    rows: slice
    queries: slice
    oracles: Any


class Objective:
    """The weighted mean of a surrogate over the queries that can teach, divided by its value at zero scores.

    Parameters
    ----------
    surrogate : Surrogate
    queries : Queries
        Relevance and boundaries.
    shards : sequence of Shard
        The atoms of work (`QueryGroups.shards`).
    weights : ndarray of shape (n_queries,), optional
        Weight ≥ 0 of each query; equal by default.
    normalise : bool, default=True
        Divide by the value at zero scores, so that one grid of penalties fits every surrogate.
    n_threads : int, default=1
        Threads that map over shards. Results do not depend on it.

    Attributes
    ----------
    offers : frozenset of str
        The surrogate's oracles.
    left_out : ndarray of shape (n_queries,), bool
        Queries that cannot teach, or weigh nothing.
    dtype : type
        Of the scores in training: float64 for one shard, where speed is no question and the last digits help
        a line search; float32 for more.
    stages : tuple of Objective
        Easier objectives on the same data, to be minimised first, if the surrogate is reached through some.

    Raises
    ------
    DataError
        If no query can teach.
    """

    def __init__(
        self,
        surrogate: Surrogate,
        queries: Queries,
        shards: Sequence[Shard],
        *,
        weights: np.ndarray | None = None,
        normalise: bool = True,
        n_threads: int = 1,
    ):
        self.surrogate = surrogate
        self.offers = surrogate.offers
        self.n_docs, self.n_queries = queries.n_docs, queries.n_queries
        self.n_threads = n_threads
        weights = np.ones(queries.n_queries) if weights is None else np.asarray(weights, np.float64)
        self.left_out = surrogate.constant(queries) | (weights <= 0)
        if self.left_out.all():
            raise DataError(
                f"nothing to train on: {surrogate.name} is the same for every ranking of every "
                f"query, of {queries.n_queries} (each has one document, or one class of relevance)"
            )
        weights = np.where(self.left_out, 0.0, weights)
        if isinstance(surrogate, Estimated):
            self.surrogate = surrogate.estimated(queries, weights)
        self.weights = weights / weights.sum()
        self._queries, self._form = queries, None
        self.shards = tuple(tuple(self._part(block) for block in shard.blocks) for shard in shards)
        self._normalise = normalise and "value_and_gradient" in self.offers
        self.dtype = np.float64 if len(self.shards) == 1 else np.float32
        easier = surrogate.easier() if isinstance(surrogate, Annealed) else ()
        self.stages = tuple(
            Objective(each, queries, shards, weights=weights, normalise=normalise, n_threads=n_threads)
            for each in easier
        )

    @cached_property
    def scale(self) -> float:
        """What the mean is multiplied by: 1 over its value at zero scores, or 1 if that is 0 or not wanted.

        Found when it is first asked for: some solvers take each query as it is.
        """
        if not self._normalise:
            return 1.0
        # With a form, training seldom calls the oracles in float32: do not compile them for this alone.
        exact = np.float64 if "gradient_form" in self.offers else self.dtype
        at_zero = self._unscaled("value_and_gradient", np.zeros(self.n_docs, exact))[0]
        return 1.0 / at_zero if at_zero > 0 else 1.0

    def notes(self) -> list[str]:
        """Say what became of the data: which queries were left out, and what the surrogate made of grades."""
        lines = []
        if self.left_out.any():
            names = [str(each) for each in self._queries.qid[self.left_out]]
            shown = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
            lines.append(
                f"Skipped {len(names)} of {self.n_queries} queries with nothing to learn from: {shown}"
            )
        own = getattr(self.surrogate, "notes", None)
        return lines + (own(self._queries) if own else [])

    def _part(self, block: Block) -> Part:
        numbers = slice(block.first_query, block.last_query)
        some = self._queries.part(block.first_query, block.last_query)
        return Part(block.rows, numbers, self.surrogate.bind(some, self.weights[numbers]))

    def map_shards(self, statistic: Callable[[Sequence[Part]], Result]) -> list[Result]:
        """Apply a statistic to the parts of each shard, on threads; the results are in shard order."""
        return map_in_order(statistic, self.shards, self.n_threads)

    def single_queries(self) -> list[Part]:
        """Return one part for each query that can teach, for solvers that step query by query."""
        indptr = self._queries.indptr
        return [
            self._part(Block(int(q), int(q) + 1, int(indptr[q]), int(indptr[q + 1])))
            for q in np.flatnonzero(self.weights > 0)
        ]

    def whole(self) -> Part:
        """Return one part of all queries."""
        return self._part(Block(0, self.n_queries, 0, self.n_docs))

    def gradient_form(self) -> Any:
        """Return what `directrank.kernels.plugins.query_gradient` reads of all queries."""
        if self._form is None:
            self._form = self.whole().oracles.gradient_form()
        return self._form

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its derivative with respect to each score, shape (n_docs,)."""
        return self._value_and_vector("value_and_gradient", scores)

    def document_weights(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and the weight of each document, shape (n_docs,), type of the scores."""
        return self._value_and_vector("document_weights", scores)

    def _value_and_vector(self, oracle: str, scores: np.ndarray) -> tuple[float, np.ndarray]:
        total, vector = self._unscaled(oracle, scores)
        vector *= self.scale
        return total * self.scale, vector

    def _unscaled(self, oracle: str, scores: np.ndarray) -> tuple[float, np.ndarray]:
        vector = np.empty_like(scores)

        def statistic(parts: Sequence[Part]) -> float:
            total = 0.0
            for part in parts:
                value, vector[part.rows] = getattr(part.oracles, oracle)(scores[part.rows])
                total += value
            return total

        return sum(self.map_shards(statistic)), vector

    def step_along(self, scores: np.ndarray, direction: np.ndarray) -> Step:
        """Return the best step along a direction of scores, float64 (n_docs,); see `best_step`."""

        def sums() -> np.ndarray:
            return np.sum(
                self.map_shards(
                    lambda parts: sum(
                        each.oracles.along(scores[each.rows], direction[each.rows]) for each in parts
                    )
                ),
                axis=0,
            )

        def value(moved: np.ndarray) -> float:
            return sum(
                self.map_shards(lambda parts: sum(each.oracles.value(moved[each.rows]) for each in parts))
            )

        step = best_step(self.surrogate, scores, direction, sums, value)
        amounts = {name: self.scale * getattr(step, name) for name in ("decrease", "gained", "lost")}
        return replace(step, **amounts)

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times `direction`, shape (n_docs,)."""
        out = np.empty_like(scores)

        def statistic(parts: Sequence[Part]) -> None:
            for part in parts:
                out[part.rows] = part.oracles.hessian_vector(scores[part.rows], direction[part.rows])

        self.map_shards(statistic)
        out *= self.scale
        return out

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix weights that depend on the ranking at that of these scores."""

        def statistic(parts: Sequence[Part]) -> None:
            for part in parts:
                part.oracles.reweigh(scores[part.rows])

        # It belongs to the weights at zero scores, whoever asks for it, and when.
        _ = self.scale
        self.map_shards(statistic)

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query, float64 (n_queries,)."""
        return self._per_query("query_values", scores)

    def query_weights(self, scores: np.ndarray) -> np.ndarray:
        """Return the weight of each query for boosting over queries, float64 (n_queries,); 0 if left out."""
        return self._per_query("query_weights", scores)

    def approximation_errors(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far each query's approximation is off, and a proved bound, float64 (n_queries,)."""
        errors, bounds = np.empty(self.n_queries), np.empty(self.n_queries)

        def statistic(parts: Sequence[Part]) -> None:
            for part in parts:
                found = part.oracles.approximation_errors(scores[part.rows])
                errors[part.queries], bounds[part.queries] = found

        self.map_shards(statistic)
        return errors, bounds

    def _per_query(self, oracle: str, scores: np.ndarray) -> np.ndarray:
        values = np.empty(self.n_queries)

        def statistic(parts: Sequence[Part]) -> None:
            for part in parts:
                values[part.queries] = getattr(part.oracles, oracle)(scores[part.rows])

        self.map_shards(statistic)
        return values
