"""What a worker of Dask holds and computes: an actor with the features of some shards."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker
from threadpoolctl import ThreadpoolController

from directrank.features.shards import map_in_order
from directrank.features.workers import Held


class Answer(NamedTuple):
    """What a call returned, or the exception that it raised.

    An exception that Dask raises itself means that the worker was not reached.
    """

    value: Any = None
    error: BaseException | None = None


class Holder:
    """The shards of a worker. Its threads share the work; results do not depend on their number."""

    def __init__(self):
        self.shards: dict[int, Held] = {}
        self.n_threads = get_worker().state.nthreads
        self.libraries = ThreadpoolController()

    def call(
        self, function: Callable, arguments: Sequence[Any], given: Mapping[int, Sequence], total: bool
    ) -> Answer:
        """Call a function with what is held of each shard, the arguments, and what is given for the shard.

        Returns
        -------
        Answer
            The result of each shard by its number, or their `total`.
        """
        plain = _usable(arguments)

        def of_shard(shard: int) -> Any:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(self.shards.setdefault(shard, {}), *plain, *_usable(given[shard]))

        try:
            # Sums of another number of threads have other bits.
            with self.libraries.limit(limits=1, user_api="blas"):
                results = map_in_order(of_shard, list(given), self.n_threads)
        except Exception as error:
            return Answer(error=error)
        return Answer(sum(results) if total else dict(zip(given, results, strict=True)))

    def forget(self, keys: Sequence[str]) -> None:
        """Forget what is held under some keys."""
        for held in self.shards.values():
            for key in keys:
                held.pop(key, None)


def _usable(values: Sequence[Any]) -> list[Any]:
    """Return values with arrays as kernels need them: what was received may not be aligned."""
    return [
        np.require(each, None, ["C", "A", "W"]) if isinstance(each, np.ndarray) else each for each in values
    ]
