"""Shards on the workers of a Dask cluster, and elsewhere when a worker is lost; what a worker holds."""

import contextlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from distributed import Future, get_worker
from threadpoolctl import ThreadpoolController

from directrank.apps.clusters.clusters import BETWEEN_LOOKS, GONE, Heartbeats
from directrank.errors import MethodError
from directrank.features.array import ShardResult
from directrank.features.shards import Shard, map_in_order
from directrank.surrogates import Objective
from directrank.surrogates.objective import ShardObjective

#: What a process holds of a shard: its ``queries``, its ``blocks`` (counted from 0), and what it was told to
#: keep under other keys, such as features.
WorkerStore = dict[str, Any]


class Answer(NamedTuple):
    """What a call returned, or the exception that it raised.

    An exception that Dask raises itself means that the worker was not reached.
    """

    value: Any = None
    error: BaseException | None = None


class Holder:
    """The shards of a worker. Its threads share the work; results do not depend on their number."""

    def __init__(self):
        self.shards: dict[int, WorkerStore] = {}
        self.n_threads = get_worker().state.nthreads
        self.libraries = ThreadpoolController()

    def call(
        self,
        function: Callable,
        arguments: Sequence[object],
        shard_arguments: Mapping[int, Sequence],
        total: bool,
    ) -> Answer:
        """Return what a function returns for each shard by its number, or the total; or what it raised."""
        usable = _usable(arguments)

        def on_shard(shard: int) -> ShardResult:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(self.shards.setdefault(shard, {}), *usable, *_usable(shard_arguments[shard]))

        try:
            # Sums of another number of threads have other bits.
            with self.libraries.limit(limits=1, user_api="blas"):
                results = map_in_order(on_shard, list(shard_arguments), self.n_threads)
        except Exception as error:
            return Answer(error=error)
        return Answer(sum(results) if total else dict(zip(shard_arguments, results, strict=True)))

    def forget(self, keys: Sequence[str]) -> None:
        """Forget what is held under some keys."""
        for store in self.shards.values():
            for key in keys:
                store.pop(key, None)


def _usable(values: Sequence[object]) -> list[ShardResult]:
    """Return values with arrays as kernels need them: what was received may not be aligned."""
    return [_usable_value(value) for value in values]


def _usable_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.require(value, None, ["C", "A", "W"])
    return tuple(_usable(value)) if type(value) is tuple else value


#: Workers lost one after the other, without a call that has ended, after which training gives up.
MOST_LOSSES = 8


class LostError(Exception):
    """A worker does not exist any more, or is frozen."""


@dataclass(frozen=True)
class Call:
    """A call for every shard; `arguments_of` returns what only one shard receives."""

    function: Callable
    arguments: tuple
    arguments_of: Callable[[int], tuple]
    again: int = 1


@dataclass(eq=False)
class Placed:
    """An actor, the worker that it lives on, and the shards that it holds."""

    address: str
    future: Future
    actor: Any
    shards: frozenset[int]


class DaskWorkers:
    """The workers of a cluster that hold the shards of some query groups.

    `load` takes the number of a shard, and returns the function that loads it on a worker with its arguments.
    Functions are called with what a process holds of a shard, the arguments, the shard's own rows of each
    vector of `rows`, and its own queries of each vector of `by_query`.
    """

    def __init__(self, heartbeats: Heartbeats, shards: Sequence[Shard], load: Callable[[int], tuple]):
        self.client, self.shards, self._heartbeats = heartbeats.client, shards, heartbeats
        self._load = load
        self._kept: dict[str, list[Call]] = {}
        self._placed: list[Placed] = []
        self._dropped: list[str] = []
        self._keys, self._losses = count(), 0

    def over_shards(
        self, function: Callable, *arguments: object, rows: Sequence[np.ndarray] = ()
    ) -> list[ShardResult]:
        """Return what a function returns for each shard, in shard order."""
        results = self._called(Call(function, arguments, self._slices(rows)))
        by_shard = {shard: result for part in results for shard, result in part.items()}
        return [by_shard[shard] for shard in range(len(self.shards))]

    def total(self, function: Callable, *arguments: object, rows: Sequence[np.ndarray] = ()) -> ShardResult:
        """Return the sum over shards of an array of whole numbers, added up on the workers first."""
        return sum(self._called(Call(function, arguments, self._slices(rows)), total=True))

    def keep(
        self,
        key: str,
        function: Callable,
        *arguments: object,
        rows: Sequence[np.ndarray] = (),
        by_query: Sequence[np.ndarray] = (),
    ) -> None:
        """Keep what a function returns for each shard under a key, also where a shard is loaded again."""
        call = Call(_keep, (key, function, arguments), self._slices(rows, by_query))
        self._called(call)
        self._kept[key] = [call]

    def change(
        self, key: str, function: Callable, *, rows: Sequence[np.ndarray] = (), again: int = 1
    ) -> None:
        """Call a function on what is kept under a key, to change it; `again` times after loading again."""
        # The caller may write to its vectors afterwards.
        call = Call(_change, (key, function), self._slices([vector.copy() for vector in rows]))
        # A shard that is loaded while this call runs must be as it was before.
        self._called(call)
        self._kept[key] = [self._kept[key][0], replace(call, again=again)]

    def drop_with(self, owner: object, key: str) -> None:
        """Forget what is kept under a key when its owner is gone."""
        # A finalizer runs anywhere, so that it must not call a worker: the next call does.
        weakref.finalize(owner, self._dropped.append, key).atexit = False

    def shards_of(self, objective: Objective, longest: int) -> "RemoteShards":
        """Return the shards of an objective, on the workers."""
        return RemoteShards(self, objective, longest)

    def new_key(self, kind: str) -> str:
        """Return a key that is not in use."""
        return f"{kind}-{next(self._keys)}"

    def _slices(
        self, rows: Sequence[np.ndarray], by_query: Sequence[np.ndarray] = ()
    ) -> Callable[[int], tuple]:
        def arguments_of(number: int) -> tuple:
            shard = self.shards[number]
            slices = [vector[shard.rows] for vector in rows]
            return (*slices, *(vector[shard.first_query : shard.last_query] for vector in by_query))

        return arguments_of

    def _called(self, call: Call, total: bool = False) -> list[ShardResult]:
        """Return the answers of the workers, each for its shards, which together are all of them."""
        self._forget()
        wanted, answers = set(range(len(self.shards))), []
        while wanted:
            self._place()
            sent = [
                (placed, self._send(placed, call, here, total))
                for placed in self._placed
                if (here := placed.shards & wanted)
            ]
            for placed, future in sent:
                try:
                    answers.append(self._answer(placed, future))
                except LostError:
                    self._lose(placed)
                else:
                    wanted -= placed.shards
                    self._losses = 0
        return answers

    def _send(self, placed: Placed, call: Call, shards, total: bool = False) -> ShardResult:
        """Send a call to an actor; return its future, or None if it is lost."""
        shard_arguments = {number: call.arguments_of(number) for number in sorted(shards)}
        try:
            return placed.actor.call(call.function, call.arguments, shard_arguments, total)
        except RuntimeError:  # Dask knows already that the worker is lost.
            return None

    def _answer(self, placed: Placed, future: Any) -> ShardResult:
        """Wait for the answer of an actor; raise `LostError` if its worker is gone or frozen."""
        while future is not None:
            try:
                answer: Answer = future.result(timeout=BETWEEN_LOOKS)
            except TimeoutError:
                if placed.future.status == "finished" and placed.address in self._heartbeats.living():
                    continue
                raise LostError from None
            except GONE:
                raise LostError from None
            if answer.error is not None:
                raise answer.error
            return answer.value
        raise LostError

    def _lose(self, placed: Placed) -> None:
        self._placed.remove(placed)
        self._count_loss(placed.address)

    def _count_loss(self, address: str) -> None:
        self._losses += 1
        if self._losses >= MOST_LOSSES:
            raise MethodError(
                f"{self._losses} workers of {self._heartbeats.name()} were lost one after the other, the "
                f"last one at {address}: see their logs; if their memory ran out, add workers"
            )

    def _place(self) -> None:
        """Load shards that no worker holds."""
        while homeless := set(range(len(self.shards))) - {
            n for placed in self._placed for n in placed.shards
        }:
            addresses = self._heartbeats.some()
            for address, shards in zip(addresses, self._divided(sorted(homeless), addresses), strict=True):
                if not shards:
                    continue
                try:
                    self._placed.append(self._loaded(address, frozenset(shards)))
                except LostError:
                    self._count_loss(address)

    def _divided(self, numbers: list[int], addresses: list[str]) -> list[list[int]]:
        """Return shards for each worker: the next one goes to the worker with the fewest documents."""
        load = dict.fromkeys(addresses, 0)
        for placed in self._placed:
            for number in placed.shards if placed.address in load else ():
                load[placed.address] += self._n_docs(number)
        shards_of: dict[str, list[int]] = {address: [] for address in addresses}
        for number in numbers:
            least = min(addresses, key=lambda address: load[address])
            shards_of[least].append(number)
            load[least] += self._n_docs(number)
        return list(shards_of.values())

    def _n_docs(self, number: int) -> int:
        return self.shards[number].last_row - self.shards[number].first_row

    def _loaded(self, address: str, shards: frozenset[int]) -> Placed:
        """Return a new actor on a worker that holds shards in the state that they had before."""
        placed = Placed(address, *self._actor(address), shards)
        # One shard at a time, so that this process never holds the features of all.
        for number in sorted(shards):
            function, *arguments = self._load(number)
            call = Call(function, tuple(arguments), lambda _: ())
            self._answer(placed, self._send(placed, call, {number}))
        for call in [call for calls in self._kept.values() for call in calls]:
            for _ in range(call.again):
                self._answer(placed, self._send(placed, call, shards))
        return placed

    def _actor(self, address: str) -> tuple[Future, Any]:
        with self.client.as_current():
            future = self.client.submit(
                Holder, actor=True, workers=[address], allow_other_workers=False, pure=False
            )
            while True:
                try:
                    return future, future.result(timeout=BETWEEN_LOOKS)
                except TimeoutError:
                    if address not in self._heartbeats.living():
                        future.cancel()
                        raise LostError from None
                except GONE:
                    raise LostError from None
                except ImportError as error:
                    raise MethodError(
                        f"worker {address}: {error}; install this version of directrank on every worker"
                    ) from None

    def _forget(self) -> None:
        """Have workers forget what nothing uses any more."""
        keys = [self._dropped.pop() for _ in range(len(self._dropped))]
        if not keys:
            return
        for key in keys:
            self._kept.pop(key, None)
        for placed in self._placed:
            with contextlib.suppress(RuntimeError):
                placed.actor.forget(keys)


def _keep(store, key: str, function: Callable, arguments: Sequence[object], *shard_arguments: object) -> None:
    store[key] = function(store, *arguments, *shard_arguments)


def _change(store, key: str, function: Callable, *shard_arguments: object) -> None:
    function(store[key], *shard_arguments)


class RemoteShards:
    """The shards of an objective, on the workers that hold their features."""

    def __init__(self, workers: DaskWorkers, objective: Objective, longest: int):
        self.workers, self.key, self.reweighed = workers, workers.new_key("objective"), 0
        surrogate = objective.surrogate
        # Random weights are drawn anew at each call: a shard that is loaded again has to catch up.
        self._is_drawn = surrogate.seed is not None
        workers.keep(
            self.key, _shard_objective, surrogate, objective.dtype, longest, by_query=(objective.weights,)
        )
        workers.drop_with(self, self.key)

    def over_shards(
        self, statistic: Callable, features: Any, arguments: Sequence[Any], rows: Sequence[np.ndarray]
    ) -> list[ShardResult]:
        """Apply a statistic to each shard; the results are in shard order."""
        return self.workers.over_shards(
            _statistic, self.key, features.key, statistic, tuple(arguments), rows=rows
        )

    def reweigh(self, scores: np.ndarray) -> None:
        """Fix weights that depend on the ranking at that of these scores."""
        self.reweighed += 1
        again = self.reweighed if self._is_drawn else 1
        self.workers.change(self.key, ShardObjective.reweigh, rows=(scores,), again=again)


def _shard_objective(store: WorkerStore, *arguments: Any) -> ShardObjective:
    return ShardObjective(store["queries"], store["blocks"], *arguments)


def _statistic(
    store: WorkerStore, objective: str, features: str, statistic: Callable, arguments, *rows
) -> Any:
    shard = store[objective]
    return statistic(shard, store[features], shard.parts, *arguments, *rows)
