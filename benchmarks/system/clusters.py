"""What a Dask cluster costs: a pass on two workers of this machine against two threads of one process.

    python benchmarks/system/clusters.py [--mib 1 16 64 256] [--repeats 20]

A pass is the value and the gradient of ApproxNDCG with respect to the coefficients. Both make the same sums
over the same shards in turn, and the bits are compared. The difference is the price of the messages.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

N_FEATURES, PER_QUERY, MIB = 136, 120, 2**20


def seconds(works: list[Callable[[], object]], repeats: int) -> list[float]:
    """Return the median time of each work; they are called in turn."""
    times: list[list[float]] = [[] for _ in works]
    for work in works:
        work()
    for _ in range(repeats):
        for work, own in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in times]


def measured(client, mib: float, repeats: int) -> tuple[int, float, float]:
    """Return the number of shards, and the seconds of a pass on threads and on workers."""
    from directrank import make_ranking
    from directrank.dask import distribute
    from directrank.measures import NDCG
    from directrank.scorers import Linear
    from directrank.solvers.passes import value_and_gradient
    from directrank.surrogates import Objective, SmoothedPositions

    n_queries = max(2, round(mib * MIB / (4 * N_FEATURES * PER_QUERY)))
    groups = make_ranking(n_queries, PER_QUERY, N_FEATURES, random_state=0)
    remote = distribute(groups, client)
    parameters = np.random.default_rng(0).normal(size=N_FEATURES) / N_FEATURES
    surrogate = SmoothedPositions(NDCG())
    objectives = [
        Objective(surrogate, each.queries, each.shards, n_threads=2, workers=each.workers)
        for each in (groups, remote)
    ]

    def passed(place: int):
        features = (groups, remote)[place].features
        return value_and_gradient(objectives[place], Linear(), parameters, features)

    here, there = passed(0), passed(1)
    np.testing.assert_array_equal(np.append(*here), np.append(*there))
    return len(groups.shards), *seconds([lambda: passed(0), lambda: passed(1)], repeats)


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mib", type=float, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    from directrank.dask import connect

    with connect("local:2") as client:
        print("size MiB  shards  two threads ms  two workers ms  ratio  overhead ms")
        for mib in given.mib:
            n_shards, here, there = measured(client, mib, given.repeats)
            print(
                f"{mib:8.0f}  {n_shards:6}  {1000 * here:14.2f}  {1000 * there:14.2f}  {there / here:5.2f}  "
                f"{1000 * (there - here):11.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
