"""How the cost of each method grows with the length of a list, and which lists it refuses.

    python benchmarks/kernels/long_lists.py [--lengths 5000,10000,20000,50000] [--methods lambdarank,listnet]

One query of five grades, 48 % of its documents relevant. Printed are the milliseconds of processor time of
one call of each oracle that the method's solver needs, summed; the exponent of their growth between the last
two lengths; and from which length on the method is refused (`estimators/inputs.py`). The growth is
the ratio here: 1 is as the list, 2 as its square.
"""

import argparse
import time

import numpy as np

from directrank import QueryGroups
from directrank.errors import DataError
from directrank.estimators.methods import METHODS, configured
from directrank.estimators.training import LARGEST_WORK
from directrank.surrogates import Objective

SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]
#: Oracles, and what they are called with besides scores.
CALLS = {
    "reweigh": 0, "value_and_gradient": 0, "hessian_vector": 1, "query_weights": 0,
    "most_violated": 0, "violated_pairs": 0, "line_sums": 1,
}  # fmt: skip
#: A length from which runs of pairs are sorted.
SHORT = 4000


def query_of(n: int) -> QueryGroups:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return QueryGroups(X, rng.choice(5, n, p=SHARES).astype(float), np.zeros(n, int))


def milliseconds(surrogate, groups: QueryGroups) -> float:
    """Return the processor time of one call of each oracle."""
    oracles = Objective(surrogate, groups.queries, groups.shards).all_queries().oracles
    scores, direction = np.random.default_rng(1).normal(size=(2, groups.n_docs))
    started = time.process_time()
    for name, extra in CALLS.items():
        if hasattr(oracles, name):
            getattr(oracles, name)(scores, *[direction] * extra)
    return 1000 * (time.process_time() - started)


def timed(surrogate, groups: QueryGroups) -> float:
    """Return the milliseconds, or NaN where they would be minutes."""
    long = surrogate.work(groups.queries)[0] > 10 * LARGEST_WORK
    return float("nan") if long else milliseconds(surrogate, groups)


def refused_from(surrogate) -> str:
    """Return the least length of such a list that is refused, to two digits."""
    low, high = 100, 10_000_000
    if surrogate.work(query_of(high // 10).queries)[0] * 100 <= LARGEST_WORK:
        return "never"
    while high > 1.02 * low:
        middle = int((low * high) ** 0.5)
        if surrogate.work(query_of(middle).queries)[0] > LARGEST_WORK:
            high = middle
        else:
            low = middle
    return f"{float(f'{high:.1e}'):,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", default="5000,10000,20000,50000")
    parser.add_argument("--methods", default=",".join(each.name for each in METHODS if each.name != "auto"))
    given = parser.parse_args()
    lengths = [int(each) for each in given.lengths.split(",")]
    print(f"| method | {' | '.join(f'{n:,}' for n in lengths)} | growth | refused from |")
    print(f"| --- |{' --- |' * (len(lengths) + 2)}")
    for method in configured(given.methods):
        surrogate = method.build().components()[0]
        try:
            milliseconds(surrogate, query_of(SHORT))  # compiles
        except DataError:  # SoftRank
            continue
        times = [timed(surrogate, query_of(n)) for n in lengths]
        if np.isfinite(times).sum() < 2:  # refused
            continue
        one, other = np.flatnonzero(np.isfinite(times))[-2:]
        growth = np.log(times[other] / times[one]) / np.log(lengths[other] / lengths[one])
        shown = " | ".join("–" if each != each else f"{each:,.{int(each < 1)}f}" for each in times)
        print(f"| `{method.label}` | {shown} | {growth:.1f} | {refused_from(surrogate)} |", flush=True)


if __name__ == "__main__":
    main()
