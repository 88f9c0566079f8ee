"""Coordinate ascent: the exact line search beside 25 evaluations, in passes over the features.

    python benchmarks/solvers/coordinate_ascent.py [--queries 300] [--docs 100]

Times are the least processor time of some repetitions; ratios are computed within one run. A cycle is one
line search for each feature.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from directrank import make_ranking
from directrank.kernels.products import row_products
from directrank.measures import parse_measure
from directrank.surrogates import MeasureItself, Objective

TRIALS, N_FEATURES = 25, 45


def least_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor time of some calls after a first one."""
    work()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def main(n_queries: int, n_docs: int) -> None:
    """Print the cost of a cycle, exact and by trial steps."""
    groups: Any = make_ranking(n_queries, n_docs, N_FEATURES, random_state=0)
    weights, out = np.ones(N_FEATURES), np.empty(groups.n_docs)
    reading = least_seconds(lambda: row_products(groups.features, weights, out))
    scores, direction = groups.features @ np.linspace(1, -1, N_FEATURES), groups.features[:, 0].astype(float)
    print(f"{n_queries} queries x {n_docs} documents x {N_FEATURES} features, a cycle in passes over X:")
    for name in ("AP", "nDCG", "nDCG@10", "P@10"):
        objective = Objective(MeasureItself(parse_measure(name)), groups.queries, groups.shards)
        exact = least_seconds(lambda each=objective: each.window_step_along(scores, direction))
        trial = least_seconds(lambda each=objective: each.value(scores + 0.1 * direction))
        print(
            f"{name:8s} exact {N_FEATURES * exact / reading:9.0f}, {TRIALS} trial steps "
            f"{N_FEATURES * TRIALS * trial / reading:9.0f}, ratio {TRIALS * trial / exact:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--docs", type=int, default=100)
    given = parser.parse_args()
    main(given.queries, given.docs)
