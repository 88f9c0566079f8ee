"""An objective: a surrogate on data, with oracles on one flat vector of scores.

Everything that trains meets the library here: the solvers, and later a boosting library's custom objective, a
PyTorch loss, a worker of a cluster. Relevance and the boundaries of queries go in, and nothing that holds an
objective sees them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from directrank.contracts import (
    GradientKernel,
    Part,
    QueryPlugin,
    Reweighable,
    Step,
    Surrogate,
    ValueAndGradient,
)
from directrank.data.queries import Queries
from directrank.errors import DataError
from directrank.features.array import ShardResult
from directrank.features.shards import Block, Shard, added_up, map_in_order, results_in_order
from directrank.storage.mapped import is_mapped
from directrank.surrogates.oracles import JoinedKernel
from directrank.surrogates.steps import searched_step
from directrank.timing import phase

Item = TypeVar("Item")
Result = TypeVar("Result")
# Runs of shards a thread, where there are several: threads that end together, and calls that cost little.
RUNS = 4
# Pairs in one shard that make compiled passes in float32 worth their compilation.
MUCH = 2e5
# Queries that a message names; all of them are counted.
NAMED = 20


class RemoteShards(Protocol):
    """The shards of an objective, in the processes that hold their features."""

    def over_shards(
        self, statistic: Callable, features: Any, arguments: Sequence[Any], rows: Sequence[np.ndarray]
    ) -> list[ShardResult]:
        """Apply a statistic to each shard; the results are in shard order."""
        ...

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix weights that depend on the ranking at that of these scores."""
        ...


class Workers(Protocol):
    """Processes that hold the features of some documents, shard by shard."""

    def shards_of(self, objective: Any, longest: int) -> RemoteShards:
        """Return the shards of an objective there; `longest` is its longest list."""
        ...


class Objective:
    """The weighted mean of a surrogate over the queries that can train, divided by its value at zero scores.

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
    workers : Workers, optional
        The processes that hold the features, where those are not in this one.

    Attributes
    ----------
    offers : frozenset of type
        The surrogate's oracles.
    is_convex : bool
        Whether it is one convex function of the scores, which no new weights change.
    left_out : ndarray of shape (n_queries,), bool
        Queries that are skipped: nothing can be learned from them, or their weight is 0.
    dtype : type
        Of the scores in training: float64 for one shard, where time is short and the last digits help a line
        search; float32 for more, and for many pairs whose weights follow a ranking, with which no search is
        long.
    stages : tuple of Objective
        Easier objectives on the same data, to be minimised first, if the surrogate is reached through some.

    Raises
    ------
    DataError
        If nothing can be learned from any query.
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
        workers: Workers | None = None,
    ):
        if queries.confidence is not None and not (surrogate.weighs_documents and workers is None):
            place = "in other processes" if workers else "as this loss reads no confidence of documents"
            raise DataError(
                f"{surrogate.name}: sample_weight {queries.differing(queries.confidence)}: weights belong to "
                f"queries, {place}. Give one per query, or train Regression, RankSVM, RankNet or RankBoost, "
                "where a weight is the confidence of a label. Whole numbers are taken as copies of rows."
            )
        if queries.real:
            refuse_real_labels(surrogate)
        self.offers = surrogate.offers
        self.is_convex = surrogate.is_convex and Reweighable not in surrogate.offers
        self.n_docs, self.n_queries = queries.n_docs, queries.n_queries
        self.n_threads = n_threads
        weights = training_weights(surrogate, queries, weights)
        self.left_out = weights == 0
        self.surrogate = surrogate.estimated(queries, weights)
        self.weights = weights / weights.sum()
        self._queries, self._plugin, self._lock = queries, None, Lock()
        self.shards = tuple(
            tuple(self._part(block.first_query, block.last_query) for block in shard.blocks)
            for shard in shards
        )
        self._normalise = normalise and ValueAndGradient in self.offers
        coarse = {Reweighable, GradientKernel} <= self.offers and surrogate.work(queries).sum() > MUCH
        self.dtype = np.float64 if len(self.shards) == 1 and not coarse else np.float32
        self.stages = tuple(
            Objective(
                easier, queries, shards,
                weights=weights, normalise=normalise, n_threads=n_threads, workers=workers,
            )
            for easier in surrogate.easier()
        )  # fmt: skip
        self._remote = None if workers is None else workers.shards_of(self, queries.longest)

    @cached_property
    def scale(self) -> float:
        """The factor of the mean: 1 over its value at zero scores, or 1 if that is 0 or not wanted.

        Nothing is divided where there is no gradient: no penalty is added to such an objective.

        It is computed on first use, because some solvers do not need it.
        """
        if not self._normalise or ValueAndGradient not in self.offers:
            return 1.0
        # With a plug-in, training seldom calls the oracles in float32: do not compile them for this alone.
        # Values of convex losses at zero scores are rounded in float32, though, and the scale with them.
        is_exact = GradientKernel in self.offers and not self.surrogate.is_convex
        exact = np.float64 if is_exact else self.dtype
        zeros = np.zeros(self.n_docs, exact)
        at_zero = self._sum(lambda part: part.oracles.value_and_gradient(zeros[part.rows])[0])
        return 1.0 / at_zero if at_zero > 0 else 1.0

    def notes(self) -> list[str]:
        """Return messages about the data: skipped queries, and changes of grades."""
        messages = self.surrogate.notes(self._queries)
        if not self.left_out.any():
            return messages
        names, measure = [str(qid) for qid in self._queries.qid[self.left_out]], self.surrogate.measure
        by_measure = (self.left_out & ~self._queries.single_grade).any()
        what = "from" if measure is None or not by_measure else f"for {measure.name}"
        counted = f"Skipped {len(names)} of {self.n_queries} queries with nothing to learn {what}"
        return [f"{counted}: {', '.join(names[:NAMED])}{', …' if len(names) > NAMED else ''}", *messages]

    def _part(self, first: int, last: int) -> Part:
        return part_of(self.surrogate, self._queries, self.weights, first, last)

    def single_queries(self) -> list[Part]:
        """Return one part for each query that is not skipped, for solvers that step query by query."""
        return [self._part(int(q), int(q) + 1) for q in np.flatnonzero(self.weights > 0)]

    def all_queries(self) -> Part:
        """Return one part of all queries."""
        return self._part(0, self.n_queries)

    def gradient_plugin(self) -> QueryPlugin:
        """Return the plug-in of all queries that `directrank.kernels.plugins.query_gradient` reads."""
        # Shards ask for it on several threads.
        with self._lock:
            if self._plugin is None:
                parts = [part for shard in self.shards for part in shard]
                self._plugin = gradient_plugin(self.surrogate, self._queries, self.weights, parts)
        return self._plugin

    def map_shards(self, statistic: Callable[[Sequence[Part]], Result]) -> list[Result]:
        """Apply a statistic to the parts of each shard, on threads; the results are in shard order."""
        with phase("passes over shards"):
            return map_in_order(statistic, self.shards, self.n_threads)

    def on_threads(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply a function to each item, on threads; the results are in the order of items."""
        return map_in_order(function, items, self.n_threads)

    def over_shards(
        self,
        statistic: Callable[..., Result],
        features: object,
        *arguments: object,
        rows: Sequence[np.ndarray] = (),
    ) -> list[Result]:
        """Apply a statistic of features to each shard, where they are; see `ObjectiveOracles`."""
        with phase("passes over shards"):
            return list(self._results(statistic, features, arguments, rows))

    def sum_over_shards(
        self,
        statistic: Callable[..., Sequence[object]],
        features: object,
        *arguments: object,
        rows: Sequence[np.ndarray] = (),
    ) -> list[ShardResult]:
        """Add a statistic of features over shards, as they come; see `ObjectiveOracles`."""
        with phase("passes over shards"):
            return added_up(self._results(statistic, features, arguments, rows))

    def _results(self, statistic, features, arguments, rows) -> Iterable[Any]:
        if self._remote is not None:
            return self._remote.over_shards(statistic, features, arguments, rows)
        return results_in_order(
            lambda parts: statistic(self, features, parts, *arguments, *rows), self.shards, self.n_threads
        )

    def over_runs(
        self, statistic: Callable[..., list[Result]], features: Any, *arguments: Any
    ) -> list[Result]:
        """Apply a statistic of features to runs of shards, where they are; see `ObjectiveOracles`."""
        if self._remote is not None:
            return self._remote.over_shards(one_shard, features, (statistic, arguments), ())
        # Rows of files are dropped from memory after each call.
        n_runs = 1 if self.n_threads == 1 else RUNS * self.n_threads
        n = 1 if is_mapped(features) else -(-len(self.shards) // n_runs)
        runs = [self.shards[first : first + n] for first in range(0, len(self.shards), n)]
        with phase("passes over shards"):
            results = self.on_threads(lambda run: statistic(self, features, run, *arguments), runs)
        return [result for run in results for result in run]

    def _sum(self, statistic: Callable[[Part], Any]) -> Any:
        """Sum a statistic over the parts of each shard, then over shards."""
        return sum(self.map_shards(lambda parts: sum(statistic(part) for part in parts)))

    def _gathered(
        self, oracle: Callable[..., Any], *vectors: np.ndarray, by_query: bool = False
    ) -> tuple[Any, np.ndarray]:
        """Return the sum of an oracle's values over parts, and its vectors put together.

        They are (n_docs,), of the type of the scores, or float64 (n_queries,) `by_query`. The oracle is
        given the oracles of a part and its rows of each vector, and returns a vector, perhaps after a value.
        """
        out = np.empty(self.n_queries) if by_query else np.empty_like(vectors[0])

        def fill(part: Part) -> float:
            answer = oracle(part.oracles, *(operand[part.rows] for operand in vectors))
            value, vector = answer if isinstance(answer, tuple) else (0.0, answer)
            out[part.queries if by_query else part.rows] = vector
            return value

        return self._sum(fill), out

    def _scaled(self, oracle: Callable[..., object], *vectors: np.ndarray) -> tuple[float, np.ndarray]:
        total, vector = self._gathered(oracle, *vectors)
        vector *= self.scale
        return total * self.scale, vector

    def value(self, scores: np.ndarray) -> float:
        """Return the objective."""
        return self.scale * self._sum(lambda part: part.oracles.value(scores[part.rows]))

    def values(self, scores: np.ndarray) -> np.ndarray:
        """Return the objective for each row of scores, float64 (n_rows,)."""
        return self.scale * self._sum(lambda part: part.oracles.values(scores[:, part.rows]))

    def value_and_gradient(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its derivative with respect to each score, shape (n_docs,)."""
        return self._scaled(lambda oracles, s: oracles.value_and_gradient(s), scores)

    def derivatives(self, scores: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return value, gradient and curvature, (n_docs,), of the type of the scores; see `Curvature`."""
        gradient, curvature = np.empty_like(scores), np.empty_like(scores)

        def fill(part: Part) -> float:
            value, gradient[part.rows], curvature[part.rows] = part.oracles.derivatives(scores[part.rows])
            return value

        value = self._sum(fill)
        gradient *= self.scale
        curvature *= self.scale
        return value * self.scale, gradient, curvature

    def hessian_vector(self, scores: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the second derivative at `scores` times `direction`, shape (n_docs,)."""
        return self._scaled(lambda oracles, s, d: oracles.hessian_vector(s, d), scores, direction)[1]

    def step_along(self, scores: np.ndarray, direction: np.ndarray) -> Step:
        """Return the best step along a direction of scores, float64 (n_docs,)."""
        first = self.shards[0][0].oracles
        if first.has_closed_form(direction):
            step = first.closed_form_step(
                self._sum(lambda part: part.oracles.along(scores[part.rows], direction[part.rows]))
            )
        else:
            lines = self.map_shards(
                lambda parts: [part.oracles.line(scores[part.rows], direction[part.rows]) for part in parts]
            )

            def value_at(size: float) -> float:
                return sum(self.on_threads(lambda shard: sum(line(size) for line in shard), lines))

            step = searched_step(value_at, direction)
        scale = self.scale
        return replace(
            step, decrease=scale * step.decrease, gained=scale * step.gained, lost=scale * step.lost
        )

    def window_step_along(self, scores: np.ndarray, direction: np.ndarray, least: float = -np.inf) -> Step:
        """Return the step, not below `least`, to the best average over a window along a direction."""
        sums = self._sum(lambda part: part.oracles.line_sums(scores[part.rows], direction[part.rows]))
        return self.shards[0][0].oracles.window_step(sums, least)

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix weights that depend on the ranking at that of these scores."""
        # Cache the scale before the weights change: it is defined at zero scores.
        _ = self.scale
        self.map_shards(lambda parts: [part.oracles.reweigh(scores[part.rows]) for part in parts])
        if self._remote is not None:
            self._remote.reweigh(scores)

    def query_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the measure of each query, float64 (n_queries,)."""
        return self._gathered(lambda oracles, s: oracles.query_values(s), scores, by_query=True)[1]

    def query_weights(self, scores: np.ndarray) -> np.ndarray:
        """Return the weight of each query for boosting over queries, float64 (n_queries,); 0 if skipped."""
        return self._gathered(lambda oracles, s: oracles.query_weights(s), scores, by_query=True)[1]


class ShardObjective:
    """What a statistic sees of an objective in another process: one shard, counted from 0.

    `surrogate` has the parameters that depend on all queries; `longest` is of all shards: compiled loops cut
    their work by it. The weights of all shards sum to 1.
    """

    def __init__(
        self, queries: Queries, blocks: Sequence[Block], surrogate: Surrogate, dtype: object, longest: int,
        weights: np.ndarray,
    ):  # fmt: skip
        self.offers, self.dtype, self.weights = surrogate.offers, dtype, weights
        self.parts = tuple(
            part_of(surrogate, queries, weights, block.first_query, block.last_query) for block in blocks
        )
        self._surrogate, self._queries, self._longest, self._plugin = surrogate, queries, longest, None

    def gradient_plugin(self) -> QueryPlugin:
        """Return the plug-in of the shard's queries; see `directrank.contracts.GradientKernel`."""
        if self._plugin is None:
            plugin: Any = gradient_plugin(self._surrogate, self._queries, self.weights, self.parts)
            self._plugin = plugin._replace(longest=self._longest)
        return self._plugin

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix weights that depend on the ranking at that of the shard's scores."""
        for part in self.parts:
            part.oracles.reweigh(scores[part.rows])


def one_shard(objective, features, parts, statistic: Callable, arguments: Sequence[object]) -> ShardResult:
    """Apply a statistic of runs of shards to one shard."""
    return statistic(objective, features, (parts,), *arguments)[0]


def takes_real_labels(surrogate: Surrogate) -> bool:
    """Return whether a surrogate can train on labels such as clicks over propensities."""
    measure = surrogate.measure
    return surrogate.takes_real or (measure is not None and measure.takes_real and not surrogate.is_bound)


def refuse_real_labels(surrogate: Surrogate) -> None:
    """Raise `DataError` if a surrogate does not take real labels."""
    if takes_real_labels(surrogate):
        return
    measure = surrogate.measure
    why = "it reads grades" if measure is None or not measure.takes_real else "it is a bound on 1 − E"
    raise DataError(
        f"{surrogate.name} takes no real labels of logs: {why}. Take the measure ClickDCG@10 with coordinate "
        "ascent, ApproxRank, LambdaRank, LambdaLoss, PLRank or trees under these; or RankSVM, RankNet or "
        "Regression"
    )


def training_weights(surrogate: Surrogate, queries: Queries, weights: np.ndarray | None) -> np.ndarray:
    """Return the weight of each query, 0 where nothing can be learned; DataError if that is everywhere."""
    weights = np.ones(queries.n_queries) if weights is None else np.asarray(weights, np.float64)
    trains = (weights > 0) & ~surrogate.uninformative(queries)
    if not trains.any():
        raise DataError(
            f"nothing to train on: {surrogate.name} is the same for every ranking of every "
            f"query, of {queries.n_queries} (each has one document, or one class of relevance)"
        )
    return np.where(trains, weights, 0.0)


def part_of(surrogate: Surrogate, queries: Queries, weights: np.ndarray, first: int, last: int) -> Part:
    """Return the oracles of a surrogate on queries `first` to `last`, and where these are."""
    rows = slice(int(queries.indptr[first]), int(queries.indptr[last]))
    part = queries.part(first, last)
    return Part(rows, slice(first, last), surrogate.on(part, weights[first:last]), part.indptr)


def gradient_plugin(
    surrogate: Surrogate, queries: Queries, weights: np.ndarray, parts: Sequence[Part]
) -> QueryPlugin:
    """Return what `directrank.kernels.plugins.query_gradient` reads.

    Where weights follow a ranking, the parts, in order and of all queries, write theirs to its arrays.
    """
    if Reweighable in surrogate.offers:
        oracles: list[JoinedKernel] = [part.oracles for part in parts]
        return oracles[0].joined_plugin(queries, weights, oracles)
    return surrogate.on(queries, weights).gradient_plugin()
