"""Passes over the data until the duality gap of SVM^map is 10, 1 and 0.1 %, and seconds a pass.

    python benchmarks/cutting_plane.py [--queries 1500] [--passes 400]

Block-coordinate Frank-Wolfe (evaluations of the gap counted as passes), cutting planes with a line search
(two passes a plane) and plain cutting planes (one), at three strengths of regularisation, on synthetic
queries of 60 documents and 46 features. Prints a table; seconds are given as a multiple of reading the
features once.
"""

import argparse
import time

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.measures import AP
from directrank.scorers import Linear
from directrank.solvers import BCFW, CuttingPlane
from directrank.surrogates import Objective, TypeTwoBound

TARGETS = (0.1, 0.01, 0.001)


class Silent:
    """A monitor that judges nothing."""

    def __init__(self, features):
        self.features = features[:1]

    def __call__(self, scores):
        """Return nothing of interest."""
        return 0.0


def collection(n_queries, n_docs=60, n_features=46, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, n_features)).astype(np.float32)
    truth = X @ rng.normal(size=n_features) / np.sqrt(n_features) + noise * rng.normal(size=len(X))
    return QueryGroups(X, (truth > 1.2).astype(float), np.repeat(np.arange(n_queries), n_docs))


def passes_to(solve, trace, per_row):
    """The passes after which the relative gap was at most each target; `solve` runs to one of them."""
    if trace is None:
        ends = [solve(target) for target in TARGETS]
        return [int(end.certificate["passes"]) if end.status == "converged" else None for end in ends]
    found = []
    for target in TARGETS:
        reached = [per_row * row["iteration"] for row in trace if row["gap"] <= target * row["objective"]]
        found.append(min(reached, default=None))
    return found


def read_pass(features, repeats=7):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        features.sum()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--passes", type=int, default=400)
    options = parser.parse_args()
    groups = collection(options.queries)
    once = read_pass(groups.features)
    print(f"{groups.n_docs} documents, {groups.n_features} features; one read pass {once * 1e3:.2f} ms")
    heads = f"{'10 %':>8}{'1 %':>8}{'0.1 %':>8}{'objective':>12}{'s/pass':>9}{'x read':>8}"
    print(f"{'method':<24}{'lambda':>8}{heads}")
    for penalty in (1e-2, 1e-3, 1e-4):
        C, tolerance = 1.0 / penalty, TARGETS[-1]
        methods = {
            "BCFW": (BCFW(C=C, tolerance=tolerance, max_passes=options.passes), 1),
            "cutting plane, search": (
                CuttingPlane(C=C, tolerance=tolerance, max_iterations=options.passes // 2), 2
            ),
            "cutting plane, plain": (
                CuttingPlane(C=C, tolerance=tolerance, max_iterations=options.passes, line_search=False), 1
            ),
        }  # fmt: skip
        for name, (solver, per_row) in methods.items():

            def solve(target, solver=solver, data=groups):
                solver.tolerance = target
                objective = Objective(TypeTwoBound(AP()), data.queries, data.shards)
                monitor, rng = Silent(data.features), np.random.default_rng(0)
                return solver.solve(objective, Linear(), data.features, monitor, rng)

            solve(1.0, data=collection(200))  # compiles, for float32 as two shards have it
            start = time.perf_counter()
            solution = solve(tolerance)
            seconds = (time.perf_counter() - start) / solution.certificate["passes"]
            trace = None if isinstance(solver, BCFW) else solution.trace
            found = passes_to(solve, trace, per_row)
            counts = "".join(f"{'-' if each is None else each:>8}" for each in found)
            value = solution.certificate["objective"] * penalty
            times = f"{seconds:>9.4f}{seconds / once:>8.1f}"
            print(f"{name:<24}{penalty:>8g}{counts}{value:>12.4f}{times}", flush=True)


if __name__ == "__main__":
    main()
