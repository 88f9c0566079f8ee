"""Passes over the data until the duality gap of SVM^map is 10, 1 and 0.1 %, and seconds per pass.

    python benchmarks/solvers/cutting_plane.py [--queries 1500] [--passes 900] [--noise 1.0]

Compares block-coordinate Frank-Wolfe (the pass at zero scores and evaluations of the gap count as passes),
cutting planes with a line search (two passes a plane) and plain cutting planes (one), at three strengths of
regularisation, on synthetic queries of 60 documents and 46 features. A document is relevant if a noisy
linear score of unit variance exceeds 1.2. Times are processor time on one thread, as a multiple of reading
the features once; those of BCFW include the steps among cached cuts, which are also shown apart.
"""

import argparse
import time

import numpy as np

from directrank.data.groups import QueryGroups
from directrank.measures import AP
from directrank.scorers import Linear
from directrank.solvers import BCFW, CuttingPlane
from directrank.solvers.frank_wolfe import no_cuts, optimise_kept_cuts, visits_of
from directrank.surrogates import Objective, TypeTwoBound

TARGETS = (0.1, 0.01, 0.001)


class Silent:
    """A monitor that does nothing."""

    def __init__(self, features):
        self.features = features[:1]

    def __call__(self, scores):
        """Return a constant."""
        return 0.0


def collection(n_queries, n_docs=60, n_features=46, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries * n_docs, n_features)).astype(np.float32)
    truth = X @ rng.normal(size=n_features) / np.sqrt(n_features) + noise * rng.normal(size=len(X))
    return QueryGroups(X, (truth > 1.2).astype(float), np.repeat(np.arange(n_queries), n_docs))


def solved(solver, target, data):
    """Solve to a relative gap; return the solution and the processor time."""
    solver.tolerance = target
    objective = Objective(TypeTwoBound(AP()), data.queries, data.shards)
    start = time.thread_time()
    solution = solver.solve(
        objective, Linear(), data.features, Silent(data.features), np.random.default_rng(0)
    )
    return solution, time.thread_time() - start


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


def least_time(work, repeats=9):
    times = []
    for _ in range(repeats):
        start = time.thread_time()
        work()
        times.append(time.thread_time() - start)
    return min(times)


def print_parts(data, once):
    """What a pass of BCFW costs, and a sweep among eight kept cuts a query."""
    objective = Objective(TypeTwoBound(AP()), data.queries, data.shards)
    visits = visits_of(objective, Linear(), data.features)
    kept, order = no_cuts(1e3 * visits.weights, 8, data.n_features), np.arange(len(visits.weights))
    for _ in range(8):
        visits.visit(kept, order, None)
    one_pass = least_time(lambda: visits.visit(kept, order, None)) / once
    sweep = least_time(lambda: optimise_kept_cuts(kept, order, -1.0, 1)) / once
    print(f"BCFW: a pass over the data {one_pass:.1f} read passes, a sweep among kept cuts {sweep:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1500)
    parser.add_argument("--passes", type=int, default=900)
    parser.add_argument("--noise", type=float, default=1.0)
    options = parser.parse_args()
    groups = collection(options.queries, noise=options.noise)
    once = least_time(groups.features.sum)
    print(f"{groups.n_docs} documents, {groups.n_features} features; one read pass {once * 1e3:.2f} ms")
    print_parts(groups, once)
    heads = f"{'10 %':>8}{'1 %':>8}{'0.1 %':>8}{'objective':>12}{'sweeps':>8}{'x read':>9}{'a pass':>8}"
    print(f"{'method':<24}{'lambda':>8}{heads}")
    for penalty in (1e-2, 1e-3, 1e-4):
        C, most = 1.0 / penalty, options.passes
        methods = {
            "BCFW": (BCFW(C=C, max_passes=most), 1),
            "cutting plane, search": (CuttingPlane(C=C, max_iterations=most // 2), 2),
            "cutting plane, plain": (CuttingPlane(C=C, max_iterations=most, line_search=False), 1),
        }
        for name, (solver, per_row) in methods.items():
            solved(solver, 0.5, collection(200))  # compiles, for float32 as two shards have it
            solution, seconds = solved(solver, TARGETS[-1], groups)
            passes = solution.certificate["passes"]
            trace = None if isinstance(solver, BCFW) else solution.trace
            found = passes_to(lambda target, s=solver: solved(s, target, groups)[0], trace, per_row)
            counts = "".join(f"{'-' if each is None else each:>8}" for each in found)
            value, sweeps = solution.certificate["objective"] * penalty, solution.certificate.get("sweeps", 0)
            times = f"{seconds / once:>9.0f}{seconds / once / passes:>8.1f}"
            print(f"{name:<24}{penalty:>8g}{counts}{value:>12.4f}{sweeps:>8.0f}{times}", flush=True)


if __name__ == "__main__":
    main()
