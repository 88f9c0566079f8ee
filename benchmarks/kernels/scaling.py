"""Fitting and applying a scaling as multiples of a read pass over 136 features.

    python benchmarks/kernels/scaling.py [--documents 120000] [--rounds 5]

One thread, least processor time of some repetitions, all in one process. Half of the features are log-normal.
scikit-learn's StandardScaler is timed on the same features for comparison.
"""

import argparse
import time

import numpy as np
from sklearn.preprocessing import StandardScaler

from directrank.data import QueryGroups
from directrank.scorers import Linear
from directrank.scorers.scaling import fit_scaling

N_FEATURES = 136


def seconds(function, rounds):
    """Return the least processor time of some calls, after one that compiles."""
    times = []
    for _ in range(rounds + 1):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=120_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((options.documents, N_FEATURES), dtype=np.float32)
    X[:, ::2] = np.exp(2 * X[:, ::2])
    groups = QueryGroups(X, np.zeros(len(X)), np.arange(len(X)) // 120)
    read = seconds(lambda: X.sum(), options.rounds)
    print(f"{'':<26}{'fit':>8}{'apply':>8}{'score':>8}   read passes of {read * 1e3:.1f} ms")
    for kind in ("standard", "log", "query", "auto"):
        scaling = fit_scaling(kind, groups)
        scorer = scaling.scorer(Linear(np.ones(N_FEATURES)))
        queries = (groups.queries.indptr,) if kind == "query" else ()
        calls = (
            lambda kind=kind: fit_scaling(kind, groups),
            lambda scaling=scaling: scaling.of(groups),
            lambda scorer=scorer, queries=queries: scorer.scores(groups.features, *queries),
        )
        print(f"{kind:<26}" + "".join(f"{seconds(each, options.rounds) / read:8.1f}" for each in calls))
    rival = StandardScaler()
    calls = (lambda: rival.fit(X), lambda: rival.transform(X))
    print(
        f"{'scikit-learn, standard':<26}"
        + "".join(f"{seconds(each, options.rounds) / read:8.1f}" for each in calls)
    )


if __name__ == "__main__":
    main()
